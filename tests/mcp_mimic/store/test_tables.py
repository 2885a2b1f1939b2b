"""The declared tables agree with themselves and with the kinds of evidence id in `mcp_mimic/contract.py`."""

import pytest

from mcp_mimic.contract import EID_KINDS
from mcp_mimic.store.tables import KINDS, OPTIONAL_SCHEMAS, REQUIRED_SCHEMAS, TABLES, Table


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES.keys())
def test_a_table_names_only_columns_that_it_has(table: Table) -> None:
    names = table.column_names
    assert len(set(names)) == len(names)
    assert table.schema in (*REQUIRED_SCHEMAS, *OPTIONAL_SCHEMAS)
    for column in (table.key, table.time):
        assert column is None or column in names
    assert table.has_subject or table.kind is None


def test_every_kind_of_evidence_id_is_known_to_the_contract() -> None:
    assert set(KINDS) <= set(EID_KINDS)


def test_a_detail_table_shares_kind_and_key_with_its_parent() -> None:
    for table in TABLES.values():
        if table.shares:
            parent = TABLES[table.shares]
            assert (parent.kind, parent.key) == (table.kind, table.key)
            assert parent.shares is None


def test_hosp_and_icu_have_all_their_tables() -> None:
    assert sum(table.schema == "hosp" for table in TABLES.values()) == 22
    assert sum(table.schema == "icu" for table in TABLES.values()) == 9
