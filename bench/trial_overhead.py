"""Where the time of a job's container trials goes, from the phases that Harbor recorded.

    uv run python bench/trial_overhead.py jobs/NAME

Overhead a trial is the time from the first trial's start to the last one's end, less the agents' own time shared
among the places that ran at once, over the number of trials.
"""

import json
import sys
from datetime import datetime
from pathlib import Path

PHASES = ("environment_setup", "agent_setup", "agent_execution", "verifier")
TOLD = {
    "environment_setup": "network, volumes and containers; the chart server starts and answers",
    "agent_setup": "the agent's CLI is found and set up",
    "agent_execution": "the agent's own time",
    "collection": "freeze, collect, seal the audit, remove the containers",
    "verifier": "the verifier's container, the score",
}


def seconds(phase: dict[str, str]) -> float:
    return (moment(phase["finished_at"]) - moment(phase["started_at"])).total_seconds()


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def main(job: Path) -> None:
    try:
        places = json.loads((job / "config.json").read_bytes())["n_concurrent_trials"]
        records = [json.loads(path.read_bytes()) for path in sorted(job.glob("*__*/result.json"))]
        results = [record for record in records if record.get("verifier")]
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        sys.exit(f"{job} is not a job that can be read ({type(error).__name__}: {error})")
    if not results:
        sys.exit(f"{job} has no trial that was scored")
    totals = dict.fromkeys(TOLD, 0.0)
    for result in results:
        for name in PHASES:
            totals[name] += seconds(result[name])
        between = moment(result["verifier"]["started_at"]) - moment(result["agent_execution"]["finished_at"])
        totals["collection"] += between.total_seconds()
    for name, total in totals.items():
        print(f"{total / len(results):7.2f} s  {TOLD[name]}")
    wall = max(moment(result["finished_at"]) for result in results) - min(
        moment(result["started_at"]) for result in results
    )
    overhead = (wall.total_seconds() - totals["agent_execution"] / places) / len(results)
    print(f"{len(results)} trials, {places} at a time, {wall.total_seconds():.1f} s in all")
    print(f"{overhead:.2f} s of overhead a trial")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} jobs/NAME")
    main(Path(sys.argv[1]))
