"""The templates of a task directory, in the data folder docker/task: text with `@@NAME@@` in it."""

import re
from collections.abc import Mapping

from harness.data import data_folder
from harness.errors import TaskError

_PLACE = re.compile(r"@@([A-Z_]+)@@")


def fill_template(name: str, values: Mapping[str, str]) -> str:
    """The template `name` with every `@@NAME@@` replaced; TaskError for one that nothing fills.

    What is filled in is not read again, so that a value cannot open a place of its own.
    """
    text = (data_folder("docker") / "task" / name).read_text(encoding="utf-8")
    if unknown := sorted(set(_PLACE.findall(text)) - set(values)):
        raise TaskError(f"docker/task/{name}: nothing fills @@{unknown[0]}@@", "correct the template")
    return _PLACE.sub(lambda place: values[place[1]], text)
