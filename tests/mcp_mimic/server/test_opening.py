"""A chart that opens beside the imports of a starting server."""

import duckdb
import pytest

from mcp_mimic.errors import GrantError, SettingsError
from mcp_mimic.governance.readers import Reader
from mcp_mimic.opening import opening
from mcp_mimic.settings import ServeSettings
from mcp_mimic.store.store import Store
from tests.hospital import ADA


def settings(store: Store, subject: int = ADA) -> ServeSettings:
    reader = Reader(model="none", agreement="a test")
    return ServeSettings(store=store.path, patient=subject, as_of="2150-03-03T12:00:00", readers=(reader,))


def test_the_chart_is_locked_when_it_is_had_and_closed_when_the_block_is_left(small_store: Store) -> None:
    with opening(settings(small_store)) as chart:
        opened = chart()
        assert opened is chart()
        assert opened.grant.store == small_store.manifest.fingerprint
        with opened.chart.cursor() as cursor:
            assert cursor.execute("select count(*) > 0 from hosp.labevents").fetchone() == (True,)
            locked = "select current_setting('lock_configuration'), current_setting('enable_external_access')"
            assert cursor.execute(locked).fetchone() == (True, False)
            with pytest.raises(duckdb.Error):
                cursor.execute(f"attach '{small_store.database}'")
    with pytest.raises(duckdb.ConnectionException):
        opened.chart.cursor().execute("select 1")


def test_what_stops_a_chart_from_opening_is_told_to_whoever_asks_for_it(small_store: Store) -> None:
    with opening(settings(small_store, subject=1)) as chart, pytest.raises(GrantError) as told:
        chart()
    assert told.value.code == "unknown_subject"


def test_what_fails_beside_it_is_not_hidden_by_a_chart_that_fails_too(small_store: Store) -> None:
    with pytest.raises(SettingsError, match="beside"), opening(settings(small_store, subject=1)):
        raise SettingsError("beside", "nothing")
