"""The tables that answer how the systems did, and the lines that belong beside them."""

from harness.report.cells import (
    Cell,
    Sheet,
    Summary,
    count,
    detectable,
    p_value,
    percent,
    reachable,
    signed,
    span,
)


def score_sheet(summary: Summary) -> Sheet:
    """The headline numbers."""
    some_raised = any(numbers["agent_errors"] for numbers in summary["systems"].values())
    errors = ("errors",) if some_raised else ()
    scores = ("right", "95%", "dead wrong", "supported", "recall", "precision")
    rows = []
    for tag, numbers in summary["systems"].items():
        interval = numbers["intervals"]["these_scenarios"]["accuracy"]
        rows.append(
            (
                Cell(tag),
                count(numbers["trials"]),
                count(numbers["dead"]),
                *(count(numbers["agent_errors"]) for _ in errors),
                percent(numbers["accuracy"]),
                span(interval),
                percent(numbers["accuracy_dead_wrong"]),
                percent(numbers["supported_accuracy"]),
                percent(numbers["evidence_recall"]),
                percent(numbers["citation_precision"]),
            )
        )
    note = (
        "Per cent, dead trials left out; “dead wrong” counts them as wrong. Supported: right, and every "
        "requirement rests on evidence that was served and cited. 95%: these scenarios, resampled by subject."
    )
    if some_raised:
        note += " Errors: trials whose agent raised, scored by what it left."
    columns = ("system", "trials", "dead", *errors, *scores)
    return Sheet("scores", "Scores", columns, tuple(rows), f"{note} {detectable(summary)}")


def verdict_sheet(summary: Summary) -> Sheet:
    """Deferral, and accuracy where the record settles the question."""
    columns = (
        "system",
        "settled",
        "deferral",
        "sensitivity",
        "over-deferral",
        "over-confidence",
        "lack→amb",
        "amb→lack",
    )
    names = ("deferral_sensitivity", "over_deferral", "over_confidence")
    rows = tuple(
        (
            Cell(tag),
            percent(numbers["accuracy_determinate"]),
            Cell(signed(numbers["deferral"])),
            *(percent(numbers[name]) for name in names),
            count(numbers["lack_taken_for_ambiguity"]),
            count(numbers["ambiguity_taken_for_lack"]),
        )
        for tag, numbers in summary["systems"].items()
    )
    note = (
        "Settled: accuracy where the gold is yes or no. Deferral: sensitivity minus over-deferral, 0 for a "
        f"system that always defers. {detectable(summary)}"
    )
    return Sheet("verdicts", "Settling and deferring", columns, rows, note)


def axis_sheet(summary: Summary) -> Sheet:
    """Every system on every axis from the verdict to its support."""
    columns = ("system", "verdict", "resolvable", "served", "relevant", "retrieved", "recall", "supported")
    rows = tuple(
        (
            Cell(tag),
            percent(numbers["accuracy"]),
            *(percent(numbers["citations"][name]) for name in ("resolvable", "served", "relevant")),
            percent(numbers["retrieval_recall"]),
            percent(numbers["evidence_recall"]),
            percent(numbers["supported_accuracy"]),
        )
        for tag, numbers in summary["systems"].items()
    )
    note = (
        "Of the citations that count, the share that exists in this chart or trial, was served in it, and is "
        "relevant (– if nothing was cited); of the requirements, the share retrieved, and retrieved and cited."
    )
    return Sheet("axes", "Systems by axes", columns, rows, f"{note} {detectable(summary)}")


def comparison_sheet(summary: Summary) -> Sheet | None:
    """Pairs of contestants; instruments measure the benchmark and are never ranked."""
    pairs = summary["comparisons"]
    if not pairs:
        return None
    columns = (
        "first − second",
        "tasks",
        "difference",
        "95%",
        "p by task",
        "detectable",
        "p by scenario",
        "detectable",
    )
    rows = tuple(
        (
            Cell(f"{pair['first']} − {pair['second']}"),
            count(pair["tasks"]),
            Cell(signed(pair["difference"])),
            span(pair["by_task"]),
            Cell(p_value(pair["p_by_task"])),
            reachable(pair["detectable_by_task"]),
            Cell(p_value(pair["p_by_scenario"])),
            reachable(pair["detectable_by_scenario"]),
        )
        for pair in pairs
    )
    method = summary["method"]
    note = (
        "Accuracy on the tasks that both have a score for, in points. By task: sign flips by subject. By scenario: "
        f"paired t. Detectable by task: {method['detectable_by_task']}; by scenario: {method['detectable_by_scenario']}."
    )
    return Sheet("comparisons", "Pairs of systems", columns, rows, note)


def cause_sheet(summary: Summary) -> Sheet | None:
    """What killed trials."""
    rows = tuple(
        (Cell(tag), Cell(cause), count(deaths))
        for tag, numbers in summary["systems"].items()
        for cause, deaths in numbers["causes"].items()
    )
    return Sheet("dead", "Dead trials", ("system", "cause", "trials"), rows) if rows else None


def lines_of(summary: Summary) -> list[str]:
    """What must be said beside the tables: where labels come from, baselines, what is missing or changed."""
    lines = [summary["labels"]["note"]]
    job = summary["job"]
    if job.get("classification"):
        lines.append(
            f"store: {job['classification']}, release {job['release']}; tasks: {job['tasks']}; gold {job['gold_digest'][:19]}…"
        )
    texts = (
        f"{name.replace('_', ' ')} {percent(value).text}" for name, value in summary["baselines"].items()
    )
    lines.append(f"constant answers would be right in: {', '.join(texts)}")
    lines.append(
        f"detectable difference: {summary['detectable']['formula']}, over n subjects, at 5% and 80% power"
    )
    if missing := job.get("missing"):
        lines.append(f"missing: {len(missing)} planned trials are not there; run the job again to add them")
    if left_out := job.get("left_out"):
        lines.append(f"left out: {len(left_out)} tasks, as asked with --without")
    if changed := job.get("gold_changed_since_run"):
        lines.append(f"gold: {changed} trials were run under another gold than they are graded by here")
    return lines
