"""Whether a store has a grant's patient, moment and seal: asked before a chart is opened, or a grant issued."""

from datetime import datetime

import duckdb

from mcp_mimic.chart.served import CULTURES, DICTIONARIES, SERVED_TABLES
from mcp_mimic.chart.tasks import STORE_ALIAS
from mcp_mimic.contract import Grant
from mcp_mimic.errors import GrantError
from mcp_mimic.store.availability import MICRO_DRAWN
from mcp_mimic.store.store import Store

_REGISTER = "hosp.patients"
"""Of every subject and known since birth: no part of what happened."""


def require_grantable(store: Store, grant: Grant) -> None:
    """Refuse here what would show only once a client calls: see `require_subject`, and a chart without a row.

    GrantError: `unknown_subject`, `unknown_admission`, `as_of_before_birth`, `as_of_before_record`.
    """
    with duckdb.connect(":memory:") as connection:
        store.attach(connection, STORE_ALIAS)
        require_subject(connection, grant.subject_id, grant.as_of, grant.sealed_hadm_id)
        first = _first_known(connection, grant.subject_id)
    if first is None or grant.as_of < first:
        begins = "has no row in this store" if first is None else f"begins only at {first.isoformat()}"
        raise GrantError(
            f"the as-of time {grant.as_of.isoformat()} finds an empty chart: the record {begins}",
            "use a subject that has one" if first is None else "use an as-of time from then on",
            code="as_of_before_record",
        )


def require_subject(
    connection: duckdb.DuckDBPyConnection, subject_id: int, as_of: datetime, sealed_hadm_id: int | None
) -> None:
    """Refuse a subject that the attached store has not, a moment before its birth, or a seal on no admission of it.

    GrantError: `unknown_subject`, `unknown_admission`, `as_of_before_birth`.
    """
    _require_living_subject(connection, subject_id, as_of)
    _require_own_admission(connection, subject_id, sealed_hadm_id)


def _require_living_subject(connection: duckdb.DuckDBPyConnection, subject_id: int, as_of: datetime) -> None:
    found = connection.execute(
        f"select anchor_year - anchor_age from {STORE_ALIAS}.{_REGISTER} where subject_id = ?",
        [subject_id],
    ).fetchone()
    if found is None:
        raise GrantError(
            f"subject {subject_id} is not in this store",
            "use a subject_id of hosp.patients in this very store",
            code="unknown_subject",
        )
    if as_of.year < found[0]:
        raise GrantError(
            f"the as-of time {as_of.isoformat()} lies before the patient's birth in about {found[0]}",
            "use an as-of time in the patient's (shifted) lifetime",
            code="as_of_before_birth",
        )


def _require_own_admission(
    connection: duckdb.DuckDBPyConnection, subject_id: int, sealed_hadm_id: int | None
) -> None:
    """A seal on anything but an admission of this patient would seal nothing."""
    found = connection.execute(
        f"select count(*) from {STORE_ALIAS}.hosp.admissions where subject_id = ? and hadm_id = ?",
        [subject_id, sealed_hadm_id],
    ).fetchone()
    if sealed_hadm_id is not None and found == (0,):
        raise GrantError(
            f"admission {sealed_hadm_id}, to be sealed, is none of subject {subject_id}",
            "seal a hadm_id that hosp.admissions has for this subject",
            code="unknown_admission",
        )


def _first_known(connection: duckdb.DuckDBPyConnection, subject_id: int) -> datetime | None:
    """When the first row of the subject could be known, a drawn culture included; None without any."""
    known = {CULTURES: f"least(r.available_at, {MICRO_DRAWN})"}
    firsts = [
        f"select min({known.get(table, 'r.available_at')}) as first from {STORE_ALIAS}.{table} r "
        "where r.subject_id = $subject"
        for table in SERVED_TABLES
        if table not in (_REGISTER, *DICTIONARIES)
    ]
    found = connection.execute(
        f"select min(first) from ({' union all '.join(firsts)})", {"subject": subject_id}
    ).fetchone()
    return None if found is None else found[0]
