"""What a trial handed in: its report file, its `submit_determination`, or both, read as one answer."""

from dataclasses import dataclass

from harness.scoring.blocks import scan_blocks
from harness.scoring.citations import find_citations
from harness.scoring.files import MAX_REPORT, FileReading
from harness.scoring.verdict import find_answers, judge_answers


@dataclass(frozen=True)
class ReportReading:
    """A verdict, or the problem why there is none; every distinct citation in order of appearance.

    `problem` is no_answer, conflicting_answers, unknown_answer or bad_report; `detail` says more for people.
    `answers` are the normalised texts of the answer headings.
    """

    verdict: str | None
    problem: str | None
    citations: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    detail: str = ""


def read_report(text: str) -> ReportReading:
    """Read one report."""
    blocks = scan_blocks(text.removeprefix("\ufeff"))
    answers = find_answers(blocks)
    verdict, problem = judge_answers(answers)
    return ReportReading(verdict, problem, find_citations(blocks), answers)


def read_submissions(file: FileReading, tool: FileReading) -> ReportReading:
    """Read the report file and the submitted one together.

    Their answers are judged as if they stood in one report; citations are the file's if there is a file.
    """
    texts: list[str] = []
    for where, reading in (("report file", file), ("submitted report", tool)):
        text, problem = _decode(reading)
        if problem:
            return ReportReading(None, "bad_report", detail=f"the {where} {problem}")
        if text is not None:
            texts.append(text)
    if not texts:
        return ReportReading(None, "no_answer", detail="nothing was handed in")
    readings = [read_report(text) for text in texts]
    answers = tuple(answer for reading in readings for answer in reading.answers)
    verdict, problem = judge_answers(answers)
    return ReportReading(verdict, problem, readings[0].citations, answers)


def _decode(reading: FileReading) -> tuple[str | None, str | None]:
    if reading.data is None:
        return None, reading.problem
    if len(reading.data) > MAX_REPORT:
        return None, f"is larger than {MAX_REPORT} bytes"
    try:
        return reading.data.decode("utf-8"), None
    except UnicodeDecodeError:
        return None, "is not UTF-8"
