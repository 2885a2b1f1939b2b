"""The whole examination: gather, then check."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.containers.images import ImageState, build_command, image_tag, inspect_images
from harness.doctor import engine_checks, host_checks
from harness.doctor.check import Check, unknown
from harness.doctor.engine_facts import Engine, EngineFacts, gather_engine, tried
from harness.doctor.host_facts import (
    choose_store,
    container_user,
    free_space,
    gather_corpus,
    gather_jobs,
    gather_store,
    host_routes,
)
from harness.doctor.limits import Limits, trial_limits
from harness.doctor.probe import Probe, run_probe
from harness.doctor.probe_checks import check_bridge, check_names
from harness.errors import EngineError

Images = Mapping[str, ImageState] | EngineError


@dataclass(frozen=True)
class Places:
    """Where the user keeps things."""

    stores: Sequence[Path]
    """Where to look for one; the first that is there counts."""
    jobs: Path


def examine(
    places: Places, environment: Mapping[str, str], *, quick: bool = False, tell: Callable[[str], None]
) -> list[Check]:
    """Every check, in the order in which they are worth reading; nothing is raised for what is found."""
    limits = trial_limits()
    facts = gather_engine()
    images = _images(facts)
    return [
        engine_checks.check_engine(facts.engine),
        engine_checks.check_compose(facts.compose),
        engine_checks.check_buildx(facts.buildx),
        _check_images(images),
        *_room(facts, limits, places.jobs),
        host_checks.check_disk(_free(facts.engine, places), limits),
        *_isolation(facts.engine, images, quick, tell),
        host_checks.check_store(
            gather_store(choose_store(places.stores), container_user(environment), _maps(facts)),
            places.stores,
        ),
        host_checks.check_corpus(gather_corpus()),
        host_checks.check_keys(name for name, value in environment.items() if value),
        host_checks.check_telemetry(environment.get(host_checks.TELEMETRY)),
    ]


def _images(facts: EngineFacts) -> Images:
    if isinstance(facts.engine, EngineError):
        return facts.engine
    return tried(inspect_images)


def _check_images(images: Images) -> Check:
    """The images' own remedy names the bases that they were built on."""
    if isinstance(images, EngineError):
        return engine_checks.check_images(images)
    command = tried(lambda: build_command(images))
    remedy = command.remedy if isinstance(command, EngineError) else f"build it with `{command}`"
    return engine_checks.check_images(images, remedy)


def _room(facts: EngineFacts, limits: Limits, jobs: Path) -> Iterator[Check]:
    """Of the engine: clock, memory, address pools and leftovers."""
    engine, things = facts.engine, facts.things
    if isinstance(engine, EngineError):
        yield from map(unknown, ("clock", "memory", "address pools", "leftovers"))
        return
    yield engine_checks.check_clock(engine)
    yield engine_checks.check_memory(engine, limits)
    if isinstance(things, EngineError):
        for name in ("address pools", "leftovers"):
            yield Check(name, "warning", things.message, things.remedy)
        return
    trials = engine_checks.sort_trials(things, engine.now, limits, gather_jobs(jobs))
    routes = host_routes() if engine.shares_disk else ()
    yield engine_checks.check_pools(engine, things, routes, trials)
    yield engine_checks.check_leftovers(things, engine.now, limits, trials)


def _free(engine: Engine | EngineError, places: Places) -> dict[str, int | None]:
    free = {"at the jobs folder": free_space(places.jobs)}
    if isinstance(engine, Engine) and engine.shares_disk and engine.root_dir:
        free[f"at the engine's {engine.root_dir}"] = free_space(Path(engine.root_dir))
    return free


def _maps(facts: EngineFacts) -> bool:
    return isinstance(facts.engine, Engine) and facts.engine.maps_users


def _isolation(
    engine: Engine | EngineError, images: Images, quick: bool, tell: Callable[[str], None]
) -> Iterator[Check]:
    """What a container on a trial's network reaches."""
    if isinstance(engine, EngineError):
        yield from map(unknown, ("names", "host"))
        return
    probe = _probe(images, quick, tell)
    yield check_names(engine.version, probe)
    yield check_bridge(probe)


def _probe(images: Images, quick: bool, tell: Callable[[str], None]) -> Probe | str:
    if quick:
        return "it was skipped"
    if isinstance(images, EngineError) or not images["agent"].present:
        return "the agent's image is not there"
    tell("trying what a container on a trial's network reaches (about 10 s)")
    probe = tried(lambda: run_probe(image_tag("agent")))
    return probe.message if isinstance(probe, EngineError) else probe
