"""Checks of this machine: disk, store, corpus, keys, telemetry."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from harness.doctor.check import Check, gigabytes
from harness.doctor.host_facts import CorpusFacts, StoreFacts
from harness.doctor.limits import TRIALS_AT_A_TIME, Limits

PROVIDER_KEYS = (
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "OPENROUTER_API_KEY",
)
TELEMETRY = "HARBOR_TELEMETRY"
_OWNED = "run as the store's owner, {owner}; for Harbor's own commands: export CLINICARE_USER={owner}"
_MAPPED = "use an engine that is not rootless and has no userns-remap: this one's users are not the host's"
_OFF = {"0", "false", "no", "off", "disabled"}


def check_disk(free: Mapping[str, int | None], limits: Limits) -> Check:
    """Whether there is room for as many trials as may run at a time; `free` in bytes, by place."""
    known = {place: size for place, size in free.items() if size is not None}
    if not known:
        return Check("disk", "warning", "free space is not known", "see the engine's own: docker system df")
    found = ", ".join(f"{gigabytes(size)} free {place}" for place, size in known.items())
    found += f"; a trial may fill {gigabytes(limits.storage)}"
    least = min(known.values())
    if least >= TRIALS_AT_A_TIME * limits.storage:
        return Check("disk", "ok", found)
    remedy = "free space: see docker system df, and old folders under jobs/"
    return Check("disk", "problem" if least < limits.storage else "warning", found, remedy)


def check_store(store: StoreFacts, looked: Sequence[Path] = ()) -> Check:
    """Whether there is a store, whole and readable in containers; `looked` is where one was looked for."""
    make = f"make one: harness demo, or mcp-mimic import SOURCE… --store {store.path}"
    if store.trouble is not None:
        message, remedy = store.trouble
        if store.absent:
            places = " nor ".join(map(str, looked or [store.path]))
            return Check("store", "warning", f"no store at {places}", f"name one with --store, or {make}")
        return Check("store", "problem", message, remedy)
    found = f"{store.path}: {store.classification}, {store.release}, {_short(store.fingerprint)}"
    if store.unreadable:
        what = ", ".join(store.unreadable)
        return Check(
            "store",
            "problem",
            f"{found}; the chart server's user may not read {what}",
            _OWNED.format(owner=store.owner) if store.owner else _MAPPED,
        )
    return Check("store", "ok", found)


def _short(fingerprint: str) -> str:
    kind, _, digits = fingerprint.rpartition(":")
    return f"{kind}:{digits[:12]}" if kind else digits[:12]


def check_corpus(corpus: CorpusFacts) -> Check:
    """Whether the policy documents are there."""
    again = "reinstall clinicare, or run it from a complete checkout"
    if corpus.trouble is not None:
        return Check("corpus", "problem", corpus.trouble, again)
    if corpus.missing:
        return Check("corpus", "problem", f"missing: {', '.join(corpus.missing)}", again)
    if not corpus.documents:
        return Check("corpus", "problem", "the manifest names no document", again)
    return Check("corpus", "ok", f"{corpus.documents} policy documents")


def check_keys(names: Iterable[str]) -> Check:
    """Which providers' keys are set, by the names of their variables and nothing more."""
    given = set(names)
    there = [name for name in PROVIDER_KEYS if name in given]
    if not there:
        return Check("keys", "ok", "none set: the oracle and scripted models need none")
    return Check("keys", "ok", f"set: {', '.join(there)}")


def check_telemetry(value: str | None) -> Check:
    """Whether Harbor's telemetry is off."""
    if value is not None and value.strip().lower() in _OFF:
        return Check("telemetry", "ok", f"Harbor's is off ({TELEMETRY})")
    found = (
        f"`harness run` switches Harbor's off, but Harbor's own commands post it unless {TELEMETRY} is off"
    )
    return Check("telemetry", "warning", found, f"export {TELEMETRY}=off")
