"""Stages are run once for the same inputs and again for others."""

from pathlib import Path

import pytest

from harness.errors import JobError
from harness.stages import Outcome, Stage, digest_of, run_stages


def _stages(folder: Path, first: str, ran: list[str], *, resumes: bool = False) -> list[Stage]:
    def write(name: str) -> str:
        ran.append(name)
        (folder / name).mkdir(exist_ok=True)
        (folder / name / "part").write_text("x")
        return f"wrote {name}"

    return [
        Stage("one", first, (folder / "one",), lambda: write("one")),
        Stage("two", "", (folder / "two",), lambda: write("two"), resumes=resumes),
    ]


def test_a_second_run_on_the_same_inputs_skips_every_stage(tmp_path: Path) -> None:
    ran: list[str] = []
    told: list[Outcome] = []
    for _ in range(2):
        run_stages(tmp_path, _stages(tmp_path, "a", ran), told.append)
    assert ran == ["one", "two"]
    assert [outcome.skipped for outcome in told] == [False, False, True, True]
    assert told[3].said == "wrote two"


def test_other_inputs_run_the_stage_and_all_that_follow_it_again(tmp_path: Path) -> None:
    ran: list[str] = []
    run_stages(tmp_path, _stages(tmp_path, "a", ran), lambda _: None)
    run_stages(tmp_path, _stages(tmp_path, "b", ran), lambda _: None)
    assert ran == ["one", "two", "one", "two"]


def test_a_missing_output_is_made_again(tmp_path: Path) -> None:
    ran: list[str] = []
    run_stages(tmp_path, _stages(tmp_path, "a", ran), lambda _: None)
    (tmp_path / "two" / "part").unlink()
    (tmp_path / "two").rmdir()
    run_stages(tmp_path, _stages(tmp_path, "a", ran), lambda _: None)
    assert ran == ["one", "two", "two"]


@pytest.mark.parametrize("resumes", [False, True])
def test_a_stage_that_was_cut_off_starts_clean_unless_it_resumes_by_itself(
    tmp_path: Path, resumes: bool
) -> None:
    ran: list[str] = []
    stages = _stages(tmp_path, "a", ran, resumes=resumes)

    def cut_off() -> str:
        (tmp_path / "two").mkdir()
        (tmp_path / "two" / "half").write_text("x")
        raise KeyboardInterrupt

    broken = Stage("two", "", (tmp_path / "two",), cut_off, resumes=resumes)
    with pytest.raises(KeyboardInterrupt):
        run_stages(tmp_path, [stages[0], broken], lambda _: None)
    run_stages(tmp_path, stages, lambda _: None)
    assert ran == ["one", "two"]
    assert (tmp_path / "two" / "half").exists() is resumes


def test_a_folder_with_other_files_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(JobError, match="has other files"):
        run_stages(tmp_path, _stages(tmp_path, "a", []), lambda _: None)


def test_one_process_at_a_time_makes_a_folder(tmp_path: Path) -> None:
    def again() -> str:
        run_stages(tmp_path, [], lambda _: None)
        return ""

    with pytest.raises(JobError, match="being made by another process"):
        run_stages(tmp_path, [Stage("one", "", (), again)], lambda _: None)


def test_a_file_is_no_folder_for_stages(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(JobError, match="is no folder"):
        run_stages(tmp_path / "file", [], lambda _: None)


def test_a_digest_moves_with_names_and_bytes_and_with_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    (folder / "__pycache__").mkdir(parents=True)
    (folder / "a.sql").write_text("select 1")
    first = digest_of([folder])
    (folder / "__pycache__" / "a.pyc").write_text("x")
    assert digest_of([folder]) == first
    (folder / "a.sql").rename(folder / "b.sql")
    assert digest_of([folder]) != first
