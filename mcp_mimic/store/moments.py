"""Moments that the rules of several tables share, as SQL over alias `r`, a row of the table."""

from collections.abc import Mapping

from mcp_mimic.store.rules import Availability, Rule

ALWAYS = "timestamp '-infinity'"
END_OF_DAY = "interval 1439 minute"
"""What turns the beginning of a day into its last minute."""

STORED = "greatest(r.charttime, coalesce(r.storetime, r.charttime))"

ADMISSION_JOIN = (
    "left join hosp.admissions admission "
    "on admission.subject_id = r.subject_id and admission.hadm_id = r.hadm_id"
)


def dated(time: str) -> str:
    """A time of which only the day is known when it is midnight: then the day's last minute."""
    return f"case when {time} = date_trunc('day', {time}) then {time} + {END_OF_DAY} else {time} end"


def sums_up(columns: Mapping[str, Rule], *moments: str) -> Availability:
    """Rows that code or sum up an admission: known once it is over and `moments` have passed.

    Without the admission its end is unknown, and the row stays hidden.
    """
    over = ", ".join(("admission.dischtime", *moments))
    return Availability(
        row=f"case when admission.dischtime is not null then greatest({over}) end",
        columns=columns,
        joins=ADMISSION_JOIN,
        needs=("hosp.admissions",),
        sealed="r.hadm_id",
    )
