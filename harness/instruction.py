"""What the agent is told: the question and its definitions, how to read the record, the form of the report.

The text that all scenarios share is docker/task/instruction.md. Nothing else of a scenario is shown: not
its criteria, its rules, its evidence, nor whose chart it is.
"""

from datetime import datetime

from harness.scenario import Scenario
from harness.template import fill_template


def write_instruction(scenario: Scenario, index_time: datetime, as_of: datetime) -> str:
    """instruction.md of one case."""
    times = {"index_time": _minute(index_time), "as_of": _minute(as_of)}
    definitions = "\n".join(f"- {_filled(definition, times)}" for definition in scenario.definitions)
    values = {
        "QUESTION": _filled(scenario.question, times),
        "AS_OF": times["as_of"],
        "DEFINITIONS": definitions,
    }
    return fill_template("instruction.md", values)


def shared_rules() -> str:
    """What every agent is told besides the question and its definitions, in whose places stand their names."""
    values = {"QUESTION": "[the question]", "AS_OF": "[as of]", "DEFINITIONS": "[the definitions]"}
    return fill_template("instruction.md", values)


def _filled(text: str, times: dict[str, str]) -> str:
    for name, value in times.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def _minute(moment: datetime) -> str:
    """A time as the tools write it; seconds only where there are any."""
    return moment.isoformat(sep=" ", timespec="seconds" if moment.second else "minutes")
