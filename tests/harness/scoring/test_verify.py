import json
import math
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import harness
import mcp_mimic
from harness.scoring.verify import main
from tests.harness.scoring.casebook import audit, call, gold

REPORT = "## Answer: YES\n\nThe lactate was measured again [lab:1].\n"


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    """The verifier container's folders below one root, with a supported answer."""
    for name in ("tests", "workspace", "audit"):
        (tmp_path / name).mkdir()
    (tmp_path / "tests" / "gold.json").write_text(json.dumps(gold()))
    (tmp_path / "workspace" / "report.md").write_text(REPORT)
    (tmp_path / "audit" / "audit.jsonl").write_text("\n".join(audit(call("lab:1"))) + "\n")
    return tmp_path


def _arguments(root: Path, *more: str) -> list[str]:
    places = {
        "--gold": "tests/gold.json",
        "--report": "workspace/report.md",
        "--submission": "audit/report.md",
        "--audit": "audit/audit.jsonl",
        "--out": "logs/verifier",
    }
    return [*(word for name, place in places.items() for word in (name, str(root / place))), *more]


def test_a_reward_of_finite_numbers_and_the_whole_score_are_written(parts: Path) -> None:
    assert main(_arguments(parts)) == 0
    reward = json.loads((parts / "logs/verifier/reward.json").read_text())
    assert reward == dict.fromkeys(
        ("reward", "verdict", "supported", "evidence_recall", "citation_precision"), 1.0
    )
    assert all(type(value) is float and math.isfinite(value) for value in reward.values())
    score = json.loads((parts / "logs/verifier/score.json").read_text())
    assert score["outcome"] == "right"
    assert score["gold_digest"].startswith("sha256:")


def test_the_reward_mode_is_an_argument(parts: Path) -> None:
    (parts / "workspace" / "report.md").write_text("## Answer: YES")
    main(_arguments(parts, "--mode", "multi"))
    assert json.loads((parts / "logs/verifier/reward.json").read_text())["reward"] == 0.5


def test_a_missing_report_is_scored_as_no_answer(parts: Path) -> None:
    shutil.rmtree(parts / "workspace")
    assert main(_arguments(parts)) == 0
    assert json.loads((parts / "logs/verifier/score.json").read_text())["outcome"] == "no_answer"


@pytest.mark.parametrize(
    ("place", "content", "says"),
    [
        ("audit/audit.jsonl", None, "the audit is missing"),
        ("audit/audit.jsonl", "", "the audit cannot be trusted"),
        ("audit/audit.jsonl", "\n".join(audit(call("lab:1"), seal=False)), "no seal"),
        ("audit/audit.jsonl", "\n".join(audit(task="another")), "the audit is of task another"),
        ("tests/gold.json", None, "gold.json is missing"),
        ("tests/gold.json", "{", "the gold is not JSON"),
        ("tests/gold.json", json.dumps(gold(requirements=[])), "requirements: empty"),
    ],
)
def test_without_a_seal_or_a_gold_there_is_no_reward(
    parts: Path, place: str, content: str | None, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if content is None:
        (parts / place).unlink()
    else:
        (parts / place).write_text(content)
    assert main(_arguments(parts)) == 1
    assert not (parts / "logs").exists()
    assert says in capsys.readouterr().err


def test_it_runs_from_copied_files_with_the_standard_library_alone(parts: Path) -> None:
    image = parts / "image"
    ours, served = Path(harness.__file__).parent, Path(mcp_mimic.__file__).parent
    shutil.copytree(ours / "scoring", image / "harness" / "scoring")
    shutil.copy(ours / "__init__.py", image / "harness")
    (image / "mcp_mimic").mkdir()
    for name in ("__init__.py", "contract.py"):
        shutil.copy(served / name, image / "mcp_mimic")
    command = [sys.executable, "-S", "-E", "-m", "harness.scoring.verify", *_arguments(parts)]
    done = subprocess.run(command, cwd=image, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads((parts / "logs/verifier/reward.json").read_text())["reward"] == 1.0
