"""Closing a database in memory so that nothing outside it can be reached from inside.

The order matters: whatever was attached is gone before external access is
switched off (a store that is still attached then could be attached again), the temporary folder is
emptied because its default stays writable, and the configuration is locked last.
"""

import duckdb

from mcp_mimic.errors import ChartServerError, GrantError

_SEPARATE = (
    "set python_enable_replacements = false",
    "set python_scan_all_frames = false",
    "set autoinstall_known_extensions = false",
    "set autoload_known_extensions = false",
    "set allow_community_extensions = false",
    "set allow_persistent_secrets = false",
    "set allow_extension_repositories = 'forbidden'",
    "set temp_directory = ''",
    "set enable_external_access = false",
)


class LockDownError(ChartServerError):
    """The database could not be closed; it must not be served."""

    code = "lock_down"


def lock_down(connection: duckdb.DuckDBPyConnection, *, memory_limit: str, threads: int) -> None:
    """Cut `connection`'s database off from files, network, extensions and Python, for good.

    The memory limit does not bound one huge string: the container's limit must.
    LockDownError: something is still attached, or a path stays allowed. GrantError `memory`: the rows
    need more than `memory_limit`.
    """
    for statement in _SEPARATE:
        connection.execute(statement)
    _require_nothing_allowed(connection)
    try:
        connection.execute(f"set memory_limit = '{memory_limit}'")
    except duckdb.OutOfMemoryException as error:
        raise GrantError(
            f"the patient's chart does not fit into {memory_limit}",
            "give the server more memory, or choose an earlier as-of time",
            code="memory",
        ) from error
    connection.execute(f"set threads = {int(threads)}")
    connection.execute("set lock_configuration = true")


def _require_nothing_allowed(connection: duckdb.DuckDBPyConnection) -> None:
    row = connection.execute(
        "select current_setting('allowed_paths'), current_setting('allowed_directories'), "
        "current_setting('allowed_configs'), current_setting('enable_external_access'), "
        "(select list(database_name) from duckdb_databases() where path is not null)"
    ).fetchone()
    if row != ([], [], [], False, None):
        raise LockDownError(
            f"the chart's database still reaches outside itself: {row}",
            "unset DuckDB's allowed paths and directories in this environment and start again",
        )
