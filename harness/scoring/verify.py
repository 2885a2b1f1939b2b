"""The verifier: scores the trial in its container and writes the reward.

`python -m harness.scoring.verify` reads /tests/gold.json, /workspace/report.md, /audit/report.md and
/audit/audit.jsonl, and writes /logs/verifier/reward.json and score.json. Without a sealed audit or a sound
gold it writes no reward and exits 1, so that the trial counts as broken and not as wrong.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from harness.scoring.files import MAX_AUDIT, MAX_GOLD, MAX_REPORT, FileReading, read_file
from harness.scoring.gold import GoldError
from harness.scoring.score import COMPONENTS, REWARD_MODES, UnsealedError, score_trial


@dataclass(frozen=True)
class Evidence:
    """Where a trial's parts are; the defaults are the verifier container's."""

    gold: Path = Path("/tests/gold.json")
    report: Path = Path("/workspace/report.md")
    submission: Path = Path("/audit/report.md")
    audit: Path = Path("/audit/audit.jsonl")


def score_files(evidence: Evidence, *, mode: str = "outcome") -> dict[str, Any]:
    """Score the trial whose parts these files are; GoldError or UnsealedError if there can be no score."""
    gold = _read(evidence.gold, MAX_GOLD)
    if gold.data is None:
        raise GoldError(f"{evidence.gold} {gold.problem or 'is missing'}")
    return score_parts(
        gold.data,
        _read(evidence.report, MAX_REPORT),
        _read(evidence.submission, MAX_REPORT),
        _read(evidence.audit, MAX_AUDIT),
        mode=mode,
    )


def score_parts(
    gold: bytes, report: FileReading, submission: FileReading, audit: FileReading, *, mode: str = "outcome"
) -> dict[str, Any]:
    """Score a trial from the bytes of its parts; the score names the digest of the gold that it used."""
    try:
        data = json.loads(gold)
    except (ValueError, RecursionError) as error:
        raise GoldError(f"the gold is not JSON ({error})") from error
    if audit.data is None:
        raise UnsealedError(f"the audit {audit.problem or 'is missing'}")
    try:
        lines = audit.data.decode("utf-8").removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        raise UnsealedError("the audit is not UTF-8") from error
    score = score_trial(data, report, submission, lines, mode=mode)
    return score | {"gold_digest": "sha256:" + sha256(gold).hexdigest()}


def write_scores(score: dict[str, Any], out: Path) -> None:
    """Write reward.json (finite numbers only) and score.json into the folder `out`."""
    out.mkdir(parents=True, exist_ok=True)
    rewards = {"reward": score["reward"]} | {name: score[name] for name in COMPONENTS}
    for name, value in (("score.json", score), ("reward.json", rewards)):
        text = json.dumps(value, indent=2, allow_nan=False, ensure_ascii=True)
        (out / name).write_text(text + "\n", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the verifier; 0 if a reward was written."""
    defaults = Evidence()
    parser = argparse.ArgumentParser(prog="verify", description="Score one trial and write its reward.")
    parser.add_argument("--gold", type=Path, default=defaults.gold)
    parser.add_argument("--report", type=Path, default=defaults.report)
    parser.add_argument("--submission", type=Path, default=defaults.submission)
    parser.add_argument("--audit", type=Path, default=defaults.audit)
    parser.add_argument("--out", type=Path, default=Path("/logs/verifier"))
    parser.add_argument("--mode", choices=REWARD_MODES, default="outcome")
    given = parser.parse_args(arguments)
    try:
        evidence = Evidence(given.gold, given.report, given.submission, given.audit)
        write_scores(score_files(evidence, mode=given.mode), given.out)
    except (GoldError, UnsealedError) as error:
        sys.stderr.write(f"error: no reward: {error}\n")
        return 1
    return 0


def _read(path: Path, cap: int) -> FileReading:
    return read_file(path.parent, path.name, cap=cap)


if __name__ == "__main__":
    sys.exit(main())
