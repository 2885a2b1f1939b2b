"""A scenario small enough to reason about: was a potassium of 5.0 or more drawn within six hours of T?

T is each admission's start. A subject without any potassium in that time lacks data; one whose two values
of the same minute fall on both sides of 5.0 is ambiguous.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path

from mcp_mimic.store.importer import import_store
from mcp_mimic.store.store import Store
from tests.hospital import Rows, write_hospital

ADMITTED = datetime(2150, 3, 10, 12)

FILES = {
    "scenario.toml": """
id = "90-early-potassium"
version = 1
title = "Potassium of 5.0 or more within six hours"
domain = "test"
question = "Was a potassium of 5.0 or more drawn between {index_time} and {as_of}?"
definitions = ["Potassium is item 50971."]
index_event = "Admission."
as_of = "before"
clinician_reviewed = false
criteria = { yes = "One was.", no = "None was.", lack_of_data = "No potassium.", medical_ambiguity = "Both." }
mix = { yes = 3, no = 3, lack_of_data = 1, medical_ambiguity = 1 }
params = { threshold = 5.0 }

[[reading]]
id = "stricter"
text = "Only 5.5 or more counts."
source = "a test"
params = { threshold = 5.5 }

[[evidence]]
id = "potassium"
verdicts = ["yes", "no", "medical_ambiguity"]
kind = "rows"

[[evidence]]
id = "no_potassium"
verdicts = ["lack_of_data"]
kind = "absence"
search = [
  { source = "hosp.labevents", items = [50971], from = "index_time", to = "as_of" },
  { source = "icu.chartevents", items = [227442], when = "stay_id is not null" },
]

[[reference]]
id = "none"
text = "No guideline."
""",
    "cohort.sql": """
select
    subject_id, hadm_id, null::bigint as stay_id, admittime as index_time,
    admittime + interval 6 hour as as_of, hadm_id as sealed_hadm_id, eid as index_eid, '{}' as params
from hosp.admissions
""",
    "adjudicate.sql": """
with potassium as (
    select l.task_id, l.valuenum >= (t.params->>'$.threshold')::double as high
    from hosp.labevents l
    join task t on t.task_id = l.task_id
    where l.itemid = 50971 and l.charttime >= t.index_time and l.charttime <= t.as_of
)
select
    t.task_id,
    case
        when count(p.task_id) = 0 then 'lack_of_data'
        when bool_or(p.high) and not bool_and(p.high) then 'medical_ambiguity'
        when bool_or(p.high) then 'yes'
        else 'no'
    end as verdict,
    'potassium' as rule,
    count(p.task_id) <> 3 as eligible
from task t
left join potassium p on p.task_id = t.task_id
group by t.task_id
""",
    "evidence.sql": """
select l.task_id, 'potassium' as requirement, l.eid as alternative, l.eid, 'sufficient' as role
from hosp.labevents l
where l.itemid = 50971
""",
    "rubrics.toml": """
[[item]]
id = "looks"
text = "Looks at potassium."
weight = 1
by = "computed"
check = { name = "searched", source = "hosp.labevents", items = [50971] }
""",
    "policy_rubrics.toml": """
[[item]]
id = "nothing"
text = "Nothing."
weight = 1
document = "none"
locator = "nowhere"
""",
    "plants.toml": """
[[plant]]
id = "yes"
verdict = "yes"
anchor = "ward"
""",
}


def write_toy(root: Path, changes: Mapping[str, str] | None = None) -> Path:
    """Write the scenario folder below `root`, some files replaced; returns the folder."""
    folder = root / "90-early-potassium"
    folder.mkdir(parents=True)
    for name, text in (FILES | dict(changes or {})).items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


Admissions = list[tuple[datetime, list[tuple[datetime, float]]]]


def ward_store(
    folder: Path, subjects: Mapping[int, Admissions], *, ages: Mapping[int, int] | None = None
) -> Store:
    """Import subjects with admissions (start, potassium values); ages at their first admission, 60 by default."""
    rows: Rows = {"hosp.patients": [], "hosp.admissions": [], "hosp.labevents": []}
    for subject, admissions in subjects.items():
        rows["hosp.patients"].append(
            {
                "subject_id": subject,
                "gender": "F",
                "anchor_age": (ages or {}).get(subject, 60),
                "anchor_year": admissions[0][0].year,
            }
        )
        for place, (start, values) in enumerate(admissions, start=1):
            rows["hosp.admissions"].append(
                {
                    "subject_id": subject,
                    "hadm_id": 10 * subject + place,
                    "admittime": start,
                    "dischtime": start + timedelta(days=4),
                    "hospital_expire_flag": 0,
                }
            )
            rows["hosp.labevents"] += [
                {
                    "subject_id": subject,
                    "itemid": 50971,
                    "charttime": at,
                    "storetime": at,
                    "value": value,
                    "valuenum": value,
                }
                for at, value in values
            ]
    for number, row in enumerate(rows["hosp.labevents"], start=1):
        row["labevent_id"] = row["specimen_id"] = number
    import_store([write_hospital(folder / "source", rows)], folder / "store", release="3.1")
    return Store.open(folder / "store")
