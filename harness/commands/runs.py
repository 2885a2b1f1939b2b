"""`harness run`, `harness case`, `harness grade`: from tasks to scores."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands.options import (
    Corpus,
    Environment,
    JobName,
    JobsDir,
    Json,
    Readers,
    Store,
    SystemsFile,
    Tasks,
)
from harness.errors import JobError
from harness.words import counted

if TYPE_CHECKING:
    from collections.abc import Mapping


_JOBS = Path("jobs")


def register(app: typer.Typer) -> None:
    """Add the commands to the app."""
    app.command()(run)
    app.command()(case)
    app.command()(grade)


def run(
    systems: Annotated[str, typer.Option(help="Tags of systems, separated by commas.")],
    store: Store = Path("store"),
    job_name: JobName = "run",
    tasks: Tasks = Path("tasks"),
    jobs_dir: JobsDir = _JOBS,
    env: Environment = None,
    concurrency: Annotated[int, typer.Option("-n", "--concurrency", min=1, help="Trials at a time.")] = 2,
    systems_file: SystemsFile = None,
    only: Annotated[
        str | None,
        typer.Option(help="Ids of tasks, separated by commas; * stands for anything.", show_default="all"),
    ] = None,
    corpus: Corpus = None,
    reader: Readers = None,
) -> None:
    """Run systems on tasks; a job that was interrupted runs only what is missing.

    Example: harness run --systems oracle,always-yes --tasks tasks/ --store store/ --job-name first -n 2
    """
    from harness.progress import trial_progress
    from harness.readers import parse_readers
    from harness.sweep import Sweep, run_sweep
    from harness.systems import choose_systems
    from harness.taskset import TaskSet

    chosen = tuple(choose_systems(_listed(systems), systems_file, env))
    task_ids = None if only is None else TaskSet.open(tasks).choose(_listed(only))
    job = jobs_dir / job_name
    sweep = Sweep(
        tasks,
        store,
        job,
        chosen,
        task_ids=task_ids,
        concurrency=concurrency,
        environment=env,
        corpus=corpus,
        readers=parse_readers(reader or ()),
    )
    summary = run_sweep(sweep, trial_progress)
    kept = summary.trials - summary.ran
    sys.stderr.write(
        f"{job}: {counted(summary.ran, 'trial')} run, {kept} kept, {summary.dead} dead{_first(summary.deaths)}"
        f"{_errors(summary.errors)}\n"
    )
    sys.stderr.write(f"grade them with: harness grade {job} --tasks {tasks}\n")
    if summary.dead:
        raise typer.Exit(1)


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _errors(errors: "Mapping[Path, str]") -> str:
    """How many agents raised, and what the first one did; nothing if none did."""
    return f", {counted(len(errors), 'agent error')}{_first(errors)}" if errors else ""


def _first(told: "Mapping[Path, str]") -> str:
    """What the first record says, and where it is; nothing of none."""
    return next((f" ({what}; see {record})" for record, what in told.items()), "")


def case(
    system: Annotated[str, typer.Option(help="Tag of the system.")],
    task_id: Annotated[str, typer.Option(help="Id of the task.")],
    store: Store = Path("store"),
    job_name: JobName = "run",
    tasks: Tasks = Path("tasks"),
    jobs_dir: JobsDir = _JOBS,
    env: Environment = None,
    systems_file: SystemsFile = None,
    corpus: Corpus = None,
    reader: Readers = None,
) -> None:
    """Run one system on one task, unless the job has that trial, and print what became of it as JSON.

    The JSON also says whether the label is rule-derived or a clinician signed its scenario.

    Example: harness case --system oracle --task-id ID --tasks tasks/ --store store/ --job-name first
    """
    from harness.case import read_case
    from harness.readers import parse_readers
    from harness.sweep import Sweep, run_sweep
    from harness.systems import choose_systems
    from harness.taskset import TaskSet

    (chosen,) = choose_systems([system], systems_file, env)
    sweep = Sweep(
        tasks,
        store,
        jobs_dir / job_name,
        (chosen,),
        task_ids=(task_id,),
        environment=env,
        corpus=corpus,
        readers=parse_readers(reader or ()),
    )
    run_sweep(sweep)
    sys.stdout.write(json.dumps(read_case(sweep.job, TaskSet.open(tasks).task(task_id), chosen.tag)) + "\n")


def grade(
    job: Annotated[Path, typer.Argument(help="The job's folder.")],
    tasks: Tasks = Path("tasks"),
    report: Annotated[Path | None, typer.Option(help="Also write a report folder here.")] = None,
    without: Annotated[
        Path | None,
        typer.Option(help="A CSV whose column task lists tasks to leave out, such as disputed.csv."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Score a job's trials against the tasks' gold; nothing is run again.

    Example: harness grade jobs/first --tasks tasks/ --json
    """
    if not job.exists() and (_JOBS / job / "config.json").is_file():
        raise JobError(f"{job}: no such folder", f"did you mean {_JOBS / job}?")
    from rich.console import Console

    from harness.grade import grade_job
    from harness.report.folder import write_report
    from harness.report.terminal import print_scores

    scores = grade_job(job, tasks, without=() if without is None else _left_out(without, tasks))
    if report is not None:
        page = write_report(scores.summary, scores.trials, report)
        sys.stderr.write(f"report: {page}\n")
    if as_json:
        sys.stdout.write(json.dumps(scores.summary, indent=2, ensure_ascii=False) + "\n")
    else:
        print_scores(scores.summary, Console())


def _left_out(file: Path, tasks: Path) -> frozenset[str]:
    """The tasks of a folder that a file lists; those that the folder has not are told, not passed over."""
    from harness.review.comparison import read_tasks
    from harness.taskset import TaskSet

    listed, known = read_tasks(file), TaskSet.open(tasks).manifest.tasks
    if unknown := [task for task in listed if task not in known]:
        some = f"{unknown[0]} in line {listed[unknown[0]]}"
        whole = counted(len(listed), "task")
        verb = "is" if len(unknown) == 1 else "are"
        sys.stderr.write(f"{file}: {len(unknown)} of {whole} {verb} not in {tasks} ({some})\n")
    return frozenset(listed.keys() & known.keys())
