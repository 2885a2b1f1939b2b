"""Who is named to read a credentialed chart, and for which system that will do."""

from pathlib import Path

import pytest

from harness.errors import JobError
from harness.place import Place
from harness.readers import NOBODY, Reader, parse_readers, readers_of, require_readers
from harness.systems import HarborAgent, System

M, N = Reader("maker/m", "one"), Reader("none", "two")
BUILT_IN, OWN = "harness.agents.constant:AlwaysYes", "my_agent:Mine"


def _system(agent: str | None = None, model: str | None = None, compose: str | None = None) -> System:
    files = (Path(compose),) if compose else ()
    harbor = None if agent else HarborAgent(agent="claude-code", model=model, compose=files)
    return System(tag="one", about="one", agent=agent, harbor=harbor)


@pytest.mark.parametrize(
    ("system", "place", "named", "readers"),
    [
        (_system(BUILT_IN), "direct", (), (NOBODY,)),
        (_system(BUILT_IN), "direct", (M,), (NOBODY,)),
        (_system(OWN), "direct", (), ()),
        (_system(OWN), "direct", (M, N), (M, N)),
        (_system(), "docker", (M,), (NOBODY,)),
        (_system(model="maker/m"), "docker", (), ()),
        (_system(model="maker/m"), "docker", (N,), ()),
        (_system(model="maker/m"), "docker", (N, M), (M,)),
        (_system(compose="/a.yaml"), "docker", (N, M), ()),
        (_system(model="maker/m", compose="/a.yaml"), "docker", (M,), (M,)),
    ],
)
def test_a_chart_is_read_by_whom_the_operator_names(
    system: System, place: Place, named: tuple[Reader, ...], readers: tuple[Reader, ...]
) -> None:
    assert readers_of(system, place, named) == readers
    require_readers("open", system, place, ())
    if readers:
        require_readers("credentialed", system, place, named)
    else:
        with pytest.raises(JobError, match="nobody is named who may read it") as refused:
            require_readers("credentialed", system, place, named)
        assert "--reader" in refused.value.remedy


@pytest.mark.parametrize("text", ["", "maker/m", "=an agreement", "maker/m=", " = ", "maker/m= "])
def test_a_reader_is_a_model_and_its_agreement(text: str) -> None:
    assert parse_readers(["maker/m = seen on 1 May: a=b "]) == (Reader("maker/m", "seen on 1 May: a=b"),)
    with pytest.raises(JobError, match="does not name a model and its agreement"):
        parse_readers([text])
