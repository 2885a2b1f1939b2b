"""The tables that a report folder has besides the headlines."""

from harness.report.cells import (
    SHORT,
    Cell,
    Sheet,
    Summary,
    count,
    decimal,
    detectable,
    percent,
    span,
)
from mcp_mimic.contract import VERDICTS


def interval_sheet(summary: Summary) -> Sheet:
    """Both kinds of interval of the headline numbers."""
    columns = ("system", "number", "mean", "these scenarios", "scenarios in general")
    rows = []
    for tag, numbers in summary["systems"].items():
        here, general = numbers["intervals"]["these_scenarios"], numbers["intervals"]["scenarios_in_general"]
        rows += [
            (
                Cell(tag),
                Cell(name.replace("_", " ")),
                percent(numbers[name]),
                span(here[name]),
                span(general[name]),
            )
            for name in here
        ]
    method = summary["method"]
    note = (
        f"These scenarios: {method['these_scenarios']}, {method['resamples']} resamples. Scenarios in general: "
        f"{method['scenarios_in_general']}. –: no spread to judge by. {detectable(summary)}"
    )
    return Sheet("intervals", "95% intervals", columns, tuple(rows), note)


def fragile_sheet(summary: Summary) -> Sheet:
    """Accuracy with and without fragile cases."""
    kept = ("without_fragile", "without_definition_fragile", "without_either")
    columns = (
        "system",
        "all",
        "without fragile",
        "n",
        "without definition-fragile",
        "n",
        "without either",
        "n",
    )
    rows = tuple(
        (
            Cell(tag),
            percent(numbers["accuracy"]),
            *(
                cell
                for name in kept
                for cell in (percent(numbers[name]["accuracy"]), count(numbers[name]["trials"]))
            ),
        )
        for tag, numbers in summary["systems"].items()
    )
    note = (
        "Accuracy. Fragile: moving one deciding time or value a little changes the label. Definition-fragile: "
        f"an accepted other reading does. {detectable(summary)}"
    )
    return Sheet("fragile", "Without fragile cases", columns, rows, note)


def scenario_sheet(summary: Summary) -> Sheet:
    """Accuracy and support in each scenario."""
    columns = ("system", "scenario", "trials", "right", "supported", "recall", "precision")
    names = ("accuracy", "supported_accuracy", "evidence_recall", "citation_precision")
    rows = tuple(
        (Cell(tag), Cell(scenario), count(part["trials"]), *(percent(part[name]) for name in names))
        for tag, numbers in summary["systems"].items()
        for scenario, part in numbers["scenarios"].items()
    )
    return Sheet("scenarios", "By scenario", columns, rows, detectable(summary))


def confusion_sheets(summary: Summary) -> list[Sheet]:
    """For each system, counts of gold verdicts by answer."""
    columns = ("gold \\ answer", *(SHORT[name] for name in (*VERDICTS, "none")))
    sheets = []
    for tag, numbers in summary["systems"].items():
        rows = []
        for gold, row in numbers["confusion"].items():
            total = sum(row.values()) if row else 0
            cells = row.values() if row else [None] * (len(columns) - 1)
            shares = [count(value, value / total if value is not None and total else None) for value in cells]
            rows.append((Cell(SHORT[gold]), *shares))
        note = numbers["undefined"].get("confusion.medical_ambiguity", "")
        note = f"Dead trials left out.{f' {note[0].upper()}{note[1:]}.' if note else ''}"
        sheets.append(Sheet(f"confusion-{tag}", f"Answers of {tag}", columns, tuple(rows), note))
    return sheets


def outcome_sheet(summary: Summary) -> Sheet:
    """How often each outcome occurred."""
    outcomes = ("right", "wrong_verdict", "conflicting_answers", "no_answer", "unknown_answer", "bad_report")
    rows = tuple(
        (
            Cell(tag),
            *(count(numbers["outcomes"].get(name, 0)) for name in outcomes),
            *(count(numbers[name]) for name in ("agent_errors", "dead", "missing")),
        )
        for tag, numbers in summary["systems"].items()
    )
    columns = ("system", *(name.replace("_", " ") for name in outcomes), "agent errors", "dead", "missing")
    return Sheet("outcomes", "Outcomes", columns, rows, "Agent errors are scored with what they left.")


def call_sheet(summary: Summary) -> Sheet:
    """How well the tools were used."""
    names = ("errors", "refusals", "repeats", "truncated_unread")
    rows = tuple(
        (
            Cell(tag),
            Cell(decimal(numbers["calls"]["calls_per_trial"])),
            *(count(numbers["calls"][name]) for name in names),
            Cell(decimal(numbers["citations"]["cited"])),
        )
        for tag, numbers in summary["systems"].items()
    )
    columns = (
        "system",
        "calls a trial",
        "errors",
        "refusals",
        "repeats",
        "never read to the end",
        "citations a trial",
    )
    return Sheet(
        "calls", "Tool calls", columns, rows, "Totals over the scored trials, unless a trial is named."
    )
