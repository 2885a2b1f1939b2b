"""The chart server serves a folder that was indexed: its sections are searched, read and cited."""

import asyncio
from pathlib import Path

from tests.harness.corpus.documents import GUIDELINE_HTML, SENTENCE, guideline_pdf
from tests.harness.corpus.test_folder import HTML_ID, PDF_ID, add, index
from tests.mcp_mimic.charts import Session, session

NAMES = (PDF_ID, HTML_ID, "hyperkalaemia-severe", "ckd-epi-2021")


def test_an_indexed_folder_is_searched_and_read_by_section(tmp_path: Path) -> None:
    folder = tmp_path / "corpus"
    add(folder, PDF_ID, guideline_pdf())
    add(folder, HTML_ID, GUIDELINE_HTML, ".html")
    index(folder)

    async def body(chart: Session) -> None:
        listed = await chart.call("search_policies")
        assert listed.data["not_here"] == ["ckd-epi-2021"]
        assert {each["document"] for each in listed.data["documents"]} == set(NAMES) - {"ckd-epi-2021"}
        found = await chart.call(
            "search_policies", query='"calcium gluconate is given first" "calcium first"'
        )
        assert {hit["eid"] for hit in found.data["passages"]} == {f"policy:{PDF_ID}#2", f"policy:{HTML_ID}#2"}
        read = await chart.call("read_policy", document=PDF_ID, section="2")
        (passage,) = read.data["passages"]
        assert passage["eid"] == f"policy:{PDF_ID}#2"
        assert "[page 2]" in passage["text"]
        assert SENTENCE in passage["text"]
        assert read.data["licence"].startswith("Copyright KDIGO")
        assert chart.last()["eids"] == [f"policy:{PDF_ID}#2"]

    async def run() -> None:
        async with session(tmp_path, corpus=folder, documents=NAMES) as chart:
            await body(chart)

    asyncio.run(run())
