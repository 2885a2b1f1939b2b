"""The report as one HTML page that needs nothing else: no script, no network, light and dark, printable."""

from collections.abc import Iterable, Sequence

from harness.report.cells import SHORT, Cell, Sheet, Summary, is_number
from harness.report.headlines import lines_of
from harness.report.markup import Markup, element
from harness.report.sheets import all_sheets
from harness.stats.record import TrialScore

_STYLE = Markup("""
:root { color-scheme: light dark; --ink: #1c2430; --soft: #5b6675; --line: #d9dee5; --page: #fff; --bar: #cfe0f2; --note: #fff6df; --edge: #e0b94a; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e8ee; --soft: #9aa5b4; --line: #323a46; --page: #14181f; --bar: #234466; --note: #2d2614; --edge: #8f7426; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 76rem; padding: 2rem 1.5rem 4rem; background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: 0 0 .25rem; }
h2 { font-size: 1.1rem; margin: 2.5rem 0 .5rem; }
p { margin: .4rem 0; } .soft, .about { color: var(--soft); }
.label { background: var(--note); border-left: 4px solid var(--edge); padding: .5rem .8rem; margin: 1rem 0; font-weight: 600; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .7rem; border-bottom: 1px solid var(--line); text-align: right; vertical-align: bottom; }
th { font-weight: 600; color: var(--soft); } th:first-child, td:first-child, td.text { text-align: left; }
td.bar { background: linear-gradient(to right, var(--bar) var(--share), transparent var(--share)); }
td:first-child { font-weight: 600; } .note { color: var(--soft); font-size: .88rem; max-width: 60rem; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(30rem, 1fr)); gap: 0 2rem; }
summary { cursor: pointer; font-weight: 600; margin-top: 2.5rem; } dt { font-weight: 600; margin-top: .5rem; } dd { margin: 0 0 0 1.2rem; }
@media print {
  body { max-width: none; padding: 0; font-size: 10pt; } .wide { overflow: visible; } section { break-inside: avoid; }
  td.bar { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
""")  # fmt: skip


def report_page(summary: Summary, trials: Sequence[TrialScore]) -> str:
    """The whole page."""
    title = f"Scores of {summary['job'].get('name', 'a job')}"
    sheets = all_sheets(summary)
    single = [_section(sheet) for sheet in sheets if not sheet.key.startswith("confusion-")]
    confusions = [_section(sheet) for sheet in sheets if sheet.key.startswith("confusion-")]
    note, *lines = lines_of(summary)
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", title),
        element("style", _STYLE),
    )
    body = element(
        "body",
        element("h1", title),
        element("p", note, class_="label"),
        *(element("p", line, class_="soft") for line in lines),
        _about(summary),
        *single,
        element("div", *confusions, class_="pair"),
        _trials(trials),
        element("p", note, class_="label"),
    )
    return "<!DOCTYPE html>\n" + element("html", head, body, lang="en") + "\n"


def _about(summary: Summary) -> Markup:
    told = [(tag, numbers.get("about")) for tag, numbers in summary["systems"].items()]
    items = [item for tag, about in told if about for item in (element("dt", tag), element("dd", about))]
    if not items:
        return Markup()
    return element("details", element("summary", "The systems"), element("dl", *items), class_="about")


def _section(sheet: Sheet) -> Markup:
    return element(
        "section",
        element("h2", sheet.title),
        _table(sheet.columns, sheet.rows),
        element("p", sheet.note, class_="note"),
    )


def _table(columns: Iterable[str], rows: Iterable[Sequence[Cell]]) -> Markup:
    head = element("thead", element("tr", *(element("th", column) for column in columns)))
    body = element("tbody", *(element("tr", *(_cell(cell) for cell in row)) for row in rows))
    return element("div", element("table", head, body), class_="wide")


def _cell(cell: Cell) -> Markup:
    if cell.share is None:
        return element("td", cell.text) if is_number(cell.text) else element("td", cell.text, class_="text")
    share = max(0.0, min(1.0, cell.share))
    return element("td", cell.text, class_="bar", style=f"--share: {100 * share:.1f}%")


def _trials(trials: Sequence[TrialScore]) -> Markup:
    columns = ("trial", "status", "gold", "answer", "outcome", "supported", "what is missing, or the cause")
    rows = [[Cell(text) for text in _trial(trial)] for trial in trials]
    head = element("summary", f"All {len(trials)} trials")
    return element("details", head, _table(columns, rows))


def _trial(trial: TrialScore) -> tuple[str, ...]:
    start = (trial.trial, trial.status, SHORT[trial.gold])
    if trial.score is None:
        return (*start, "", "", "", trial.cause or "")
    missing = [
        f"{need['id']}: {need['why']}" for need in trial.score["requirements"] if not need["satisfied"]
    ]
    answer = SHORT[trial.answer or "none"]
    supported = "yes" if trial.score["supported"] else "no"
    return (*start, answer, trial.score["outcome"].replace("_", " "), supported, "; ".join(missing)[:400])
