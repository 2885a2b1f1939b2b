"""A scenario that only plants: enough to generate a small hospital without any SQL."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from harness.synthetic.chart import Chart, open_chart
from harness.synthetic.hospital import fill_chart
from harness.synthetic.plan import plan_cases

SEED = 11

PLANTS = """
[[plant]]
id = "granite"
verdict = "yes"
anchor = "icu"
stay = { icu_hours = 40 }
suppress = [{ source = "hosp.labevents", items = [50912], from = "-400d", to = "+30h" }]
event = [
  { source = "hosp.labevents", item = 50912, at = "-20h", value = 0.9, unit = "mg/dL" },
  { source = "hosp.labevents", item = 50912, at = "+10h", value = 2.4, unit = "mg/dL", jitter_minutes = 30 },
  { source = "icu.outputevents", item = 226559, at = "+1h", every = "1h", until = "+5h", value = 40 },
]

[[plant]]
id = "basalt"
verdict = "no"
anchor = "ward"
event = [
  { source = "hosp.emar", at = "+12m", name = "Calcium Gluconate", event = "Administered", route = "IV", dose = 2, unit = "g" },
  { source = "hosp.microbiologyevents", at = "+20m", specimen = "BLOOD CULTURE", stored = "+5d" },
]

[[plant]]
id = "feldspar"
verdict = "lack_of_data"
anchor = "ed"
presence = { discharged = "+2h30m" }

[[plant]]
id = "gneiss"
verdict = "medical_ambiguity"
anchor = "ward"
presence = { emar = false, ward_only = true }
"""


@dataclass(frozen=True)
class ToyScenario:
    """What the generator needs of a scenario."""

    plants: Path
    id: str = "91-toy"
    mix: Mapping[str, int] = field(
        default_factory=lambda: {"yes": 1, "no": 1, "lack_of_data": 1, "medical_ambiguity": 1}
    )


def write_plants(folder: Path, text: str = PLANTS) -> Path:
    """Write plants.toml; returns its path."""
    path = folder / "plants.toml"
    path.write_text(text, encoding="utf-8")
    return path


def plant_one(folder: Path, body: str, *, anchor: str = "icu", number: int = 0) -> Chart:
    """The chart of the patient with that number who carries one plant with that body."""
    text = f'[[plant]]\nid = "one"\nverdict = "yes"\nanchor = "{anchor}"\n{body}'
    scenario = ToyScenario(write_plants(folder, text), mix={"yes": number + 1})
    chart = open_chart(plan_cases([scenario])[number], SEED)
    fill_chart(chart)
    return chart
