"""Who reads a credentialed chart in a run: models that the operator names, each with the agreement it runs under."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from harness.errors import JobError
from harness.place import Place
from harness.systems import System

_OWN_AGENTS = "harness.agents."


@dataclass(frozen=True)
class Reader:
    """A model, and the agreement that lets it read a credentialed store."""

    model: str
    agreement: str


NOBODY = Reader("none", "no model reads this")
"""Who reads where a system has no model."""


def parse_readers(texts: Iterable[str]) -> tuple[Reader, ...]:
    """Readers as they stand on a command line, `MODEL=AGREEMENT`; JobError for one that does not."""
    readers = []
    for text in texts:
        model, _, agreement = (part.strip() for part in text.partition("="))
        if not (model and agreement):
            raise JobError(
                f"--reader {text!r} does not name a model and its agreement",
                "write it as --reader 'MODEL=AGREEMENT'",
            )
        readers.append(Reader(model, agreement))
    return tuple(readers)


def readers_json(readers: Iterable[Reader]) -> str:
    """As the chart server takes them from its environment."""
    return json.dumps([asdict(reader) for reader in readers])


def readers_of(system: System, place: Place, named: Sequence[Reader]) -> tuple[Reader, ...]:
    """Who of those that are named reads a chart when the system runs there; none if nobody is named who may.

    In containers a system reaches no model but the one that it names, beside its own services. Code of a user's
    own in this process reaches what it likes, so somebody must be named for it, if only as `none`.
    """
    if place == "direct":
        own = not (system.agent or "").startswith(_OWN_AGENTS)
        return tuple(named) if own else (NOBODY,)
    harbor = system.harbor
    if harbor is None or not (harbor.model or harbor.compose):
        return (NOBODY,)
    return tuple(reader for reader in named if reader.model == harbor.model)


def require_readers(classification: str, system: System, place: Place, named: Sequence[Reader]) -> None:
    """JobError if the system would have a credentialed chart read by what nobody is named for."""
    if classification != "credentialed" or readers_of(system, place, named):
        return
    what, remedy = _unnamed(system, place)
    raise JobError(
        f"system {system.tag}: the store is credentialed, and nobody is named who may read it through {what}",
        f"{remedy}; see DATA_ACCESS.md",
    )


def _unnamed(system: System, place: Place) -> tuple[str, str]:
    """Through what a chart would be read that no reader is named for, and how to name one."""
    if place == "direct":
        return "code of your own", "name who reads: --reader 'MODEL=AGREEMENT', or 'none=no model reads this'"
    model = system.harbor.model if system.harbor else None
    if model is None:
        return "services of your own", "name their model in the systems file, and its agreement with --reader"
    return f"the model {model}", f"name its agreement: --reader '{model}=AGREEMENT'"
