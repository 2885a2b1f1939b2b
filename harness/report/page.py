"""The report as one HTML page that needs nothing else: no script, no network, light and dark, printable."""

from collections.abc import Iterable, Sequence

from harness.report.cells import SHORT, Cell, Sheet, Summary, is_number
from harness.report.headlines import lines_of
from harness.report.markup import Markup, element
from harness.report.sheets import all_sheets
from harness.stats.record import TrialScore

_STYLE = Markup("""
:root { color-scheme: light dark; --ink: #1c2430; --soft: #5b6675; --line: #e3e7ec; --rule: #aab3bf; --page: #fff; --fill: #3d78b8; --track: #e6ebf1; --note: #fff6df; --edge: #e0b94a; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e8ee; --soft: #9aa5b4; --line: #272e38; --rule: #566273; --page: #14181f; --fill: #6aa5e3; --track: #2a323d; --note: #2d2614; --edge: #8f7426; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 76rem; padding: 2rem 1.5rem 4rem; background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .25rem; }
h2 { font-size: 1.15rem; margin: 2.75rem 0 .6rem; }
p { margin: .4rem 0; } .soft, .about { color: var(--soft); }
.label { background: var(--note); border-left: 4px solid var(--edge); padding: .5rem .8rem; margin: 1rem 0; font-weight: 600; }
.wide { overflow-x: auto; }
table { border-collapse: separate; border-spacing: 0; font-variant-numeric: tabular-nums; border-bottom: 1px solid var(--rule); }
th, td { padding: .35rem .45rem .45rem .9rem; text-align: right; vertical-align: bottom; white-space: nowrap; background-color: var(--page); }
th { font-weight: 600; line-height: 1.25; white-space: normal; color: var(--soft); border-bottom: 1px solid var(--rule); }
td { border-top: 1px solid var(--line); } tbody tr:first-child td, tr.same td:first-child { border-top: 0; }
th.text, td.text, th:first-child, td:first-child { text-align: left; }
td:first-child { font-weight: 600; } tr.same td:first-child { color: transparent; }
section th:first-child, section td:first-child { position: sticky; left: 0; padding-left: 0; }
td.bar { --full: 2.7rem; background: linear-gradient(var(--fill), var(--fill)) no-repeat right calc(.45rem + var(--full) * (1 - var(--share))) bottom .2rem / calc(var(--full) * var(--share)) 3px, linear-gradient(var(--track), var(--track)) no-repeat right .45rem bottom .2rem / var(--full) 3px; padding-right: .45rem; }
.note { color: var(--soft); font-size: .88rem; max-width: 60rem; margin-top: .6rem; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(30rem, 100%), 1fr)); gap: 0 2.5rem; } .pair th, .pair td { padding-left: .45rem; padding-right: .45rem; }
details td.text { white-space: normal; min-width: 6rem; } details td.text:last-child { min-width: 22rem; } details td { vertical-align: top; font-size: .9rem; overflow-wrap: anywhere; }
summary { cursor: pointer; font-weight: 600; margin-top: 2.75rem; } .about summary { margin-top: 1.25rem; } dt { font-weight: 600; margin-top: .5rem; } dd { margin: 0 0 0 1.2rem; }
@media (max-width: 40rem) { body { padding: 1.25rem 1rem 3rem; } th, td { padding-left: .5rem; padding-right: .5rem; } section td:first-child, section th:first-child { white-space: normal; min-width: 8rem; max-width: 9rem; } }
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
    """A table; of rows with the same name only the first one shows it."""
    rows = list(rows)
    words = [any(not is_number(row[number].text) for row in rows) for number, _ in enumerate(columns)]
    heads = (
        element("th", column, scope="col", **_kind(is_text))
        for column, is_text in zip(columns, words, strict=True)
    )
    names = [row[0].text for row in rows]
    body = (
        element(
            "tr",
            *(_cell(cell, is_text) for cell, is_text in zip(row, words, strict=True)),
            **({"class_": "same"} if name == before else {}),
        )
        for row, name, before in zip(rows, names, ["", *names], strict=False)
    )
    return element(
        "div",
        element("table", element("thead", element("tr", *heads)), element("tbody", *body)),
        class_="wide",
    )


def _kind(is_text: bool) -> dict[str, str]:
    return {"class_": "text"} if is_text else {}


def _cell(cell: Cell, is_text: bool) -> Markup:
    if cell.share is None:
        return element("td", cell.text, **_kind(is_text))
    share = max(0.0, min(1.0, cell.share))
    return element("td", cell.text, class_="bar", style=f"--share: {share:.3f}")


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
