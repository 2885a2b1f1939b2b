"""One patient as of one moment, in memory and cut off from everything else.

What is not in the slice cannot be reached by any query: not another patient, not the future, not the
store it was copied from.
"""

from datetime import datetime

import duckdb

from mcp_mimic.chart.lockdown import lock_down
from mcp_mimic.chart.served import DICTIONARIES, SERVED_TABLES, served_definition, served_select
from mcp_mimic.chart.subject import require_subject
from mcp_mimic.chart.tasks import AS_OF_TABLE, STORE_ALIAS, create_schemas, write_as_of
from mcp_mimic.store.store import Store
from mcp_mimic.store.tables import TABLES

_ITEM_TABLES = (
    "icu.chartevents",
    "icu.datetimeevents",
    "icu.inputevents",
    "icu.ingredientevents",
    "icu.outputevents",
    "icu.procedureevents",
)
_ENTRIES = {
    "hosp.d_labitems": "select itemid from hosp.labevents",
    "hosp.d_icd_diagnoses": "select icd_code, icd_version from hosp.diagnoses_icd "
    "union select icd_code, icd_version from ed.diagnosis",
    "hosp.d_icd_procedures": "select icd_code, icd_version from hosp.procedures_icd",
    "hosp.d_hcpcs": "select hcpcs_cd as code from hosp.hcpcsevents",
    "icu.d_items": " union ".join(f"select itemid from {table}" for table in _ITEM_TABLES),
}
"""Which entries of each dictionary a slice holds: those of its own rows, since the rest would be noise
and a wider choice could betray a row that is hidden."""


class Slice:
    """A patient's served rows in a locked database. Threads take a cursor each."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        *,
        as_of: datetime,
        release: str,
        modules: frozenset[str],
    ) -> None:
        self._connection = connection
        self.as_of = as_of
        self.release = release
        self.modules = modules

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """A cursor of the locked database, for one thread."""
        return self._connection.cursor()

    def close(self) -> None:
        """Let the rows go; cursors end with it."""
        self._connection.close()

    def __enter__(self) -> "Slice":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_slice(
    store: Store,
    subject_id: int,
    as_of: datetime,
    sealed_hadm_id: int | None = None,
    *,
    memory_limit: str = "512MB",
    threads: int = 2,
) -> Slice:
    """Copy what could be known of `subject_id` at `as_of` (local time of the record) and lock it.

    The tables have their official names, without subject_id, with eid and available_at.
    GrantError: `unknown_subject`, `unknown_admission`, `as_of_before_birth`, `memory`.
    """
    # Rows never touch a disk, not even while they are copied. One thread is faster here than several:
    # the work is many small statements.
    connection = duckdb.connect(":memory:", config={"threads": 1, "temp_directory": ""})
    try:
        store.attach(connection, STORE_ALIAS)
        require_subject(connection, subject_id, as_of, sealed_hadm_id)
        _copy(connection, store.manifest.modules, subject_id, as_of, sealed_hadm_id)
        connection.execute("use memory")
        connection.execute(f"detach {STORE_ALIAS}")
        lock_down(connection, memory_limit=memory_limit, threads=threads)
    except BaseException:
        connection.close()
        raise
    return Slice(connection, as_of=as_of, release=store.manifest.release, modules=store.manifest.modules)


def _copy(
    connection: duckdb.DuckDBPyConnection,
    modules: frozenset[str],
    subject_id: int,
    as_of: datetime,
    sealed_hadm_id: int | None,
) -> None:
    connection.execute(
        "create temp table granted as select '' as task_id, ?::bigint as subject_id, "
        "?::timestamp as as_of, ?::bigint as sealed_hadm_id",
        [subject_id, as_of, sealed_hadm_id],
    )
    write_as_of(connection, "granted")
    create_schemas(connection)
    for name in SERVED_TABLES:
        if TABLES[name].schema not in modules:
            connection.execute(f"create table {name} ({served_definition(name)})")
        elif name not in DICTIONARIES:
            select = served_select(name, task=AS_OF_TABLE, subject_id=subject_id)
            connection.execute(f"create table {name} as select * exclude (task_id) from ({select})")
    for name in DICTIONARIES:
        connection.execute(
            f"create table {name} as from ({served_select(name)}) natural semi join ({_ENTRIES[name]})"
        )
    connection.execute(f"drop table {AS_OF_TABLE}")
    connection.execute("drop schema served")
    connection.execute("drop table granted")
