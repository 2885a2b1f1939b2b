"""Hostile tar streams: whatever they hold, only plain files and folders arrive, below the target, so many and so large."""

import io
import stat
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.containers.archive import Allowance, Taken, take_file, take_folder

AMPLE = Allowance(file=1000, total=10_000, entries=100)

FILE, FOLDER = tarfile.REGTYPE, tarfile.DIRTYPE
OTHERS = (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE)

type Member = tuple[str, bytes, bytes]
"""Name, type and content; the content of a link is where it leads to."""


def packed(members: Sequence[Member], form: int = tarfile.PAX_FORMAT) -> IO[bytes]:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=form) as archive:
        for name, kind, data in members:
            info = tarfile.TarInfo(name)
            info.type, info.mode = kind, 0o7777
            if kind == FILE:
                info.size = len(data)
            else:
                info.linkname = data.decode()
            archive.addfile(info, io.BytesIO(data))
    stream.seek(0)
    return stream


def found(folder: Path) -> dict[str, bytes | None]:
    """What is below a folder: a file's content, None for a folder."""
    return {
        str(path.relative_to(folder)): None if path.is_dir() else path.read_bytes()
        for path in sorted(folder.rglob("*"))
    }


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "outer" / "target"


def test_files_and_folders_arrive_as_they_are(target: Path) -> None:
    members = [
        ("logs", FOLDER, b""),
        ("logs/a", FOLDER, b""),
        ("logs/a/b.txt", FILE, b"one"),
        ("logs/c", FILE, b""),
    ]
    assert take_folder(packed(members), target, AMPLE) == Taken(files=2, size=3)
    assert found(target) == {"a": None, "a/b.txt": b"one", "c": b""}


def test_a_file_arrives_as_it_is(target: Path) -> None:
    assert take_file(packed([("report.md", FILE, b"text")]), target, 10) == Taken(files=1, size=4)
    assert target.read_bytes() == b"text"


def test_no_rights_come_along(target: Path) -> None:
    take_folder(packed([("logs/run", FILE, b"#!"), ("logs/closed", FOLDER, b"")]), target, AMPLE)
    for name in ("run", "closed"):
        assert stat.S_IMODE((target / name).stat().st_mode) & 0o7022 == 0


@pytest.mark.parametrize("kind", OTHERS)
def test_what_is_no_file_is_refused(target: Path, kind: bytes) -> None:
    taken = take_folder(packed([("logs/x", kind, b"/etc/passwd"), ("logs/y", FILE, b"kept")]), target, AMPLE)
    assert (taken.files, taken.refused) == (1, 1)
    assert found(target) == {"y": b"kept"}


@pytest.mark.parametrize("kind", [FOLDER, *OTHERS])
def test_a_report_that_is_no_file_leaves_an_empty_folder(target: Path, kind: bytes) -> None:
    members = [("report.md", kind, b"/etc/passwd"), ("report.md/report.md", FILE, b"## Answer: YES")]
    assert take_file(packed(members), target, 10) == Taken(refused=1)
    assert target.is_dir()
    assert not target.is_symlink()
    assert found(target) == {}


def test_a_link_made_first_is_not_followed_later(target: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    members = [
        ("logs/way", tarfile.SYMTYPE, str(outside).encode()),
        ("logs/way/in", FILE, b"x"),
        ("logs/up", tarfile.SYMTYPE, b".."),
        ("logs/up/in", FILE, b"x"),
    ]
    take_folder(packed(members), target, AMPLE)
    assert found(outside) == {}
    assert found(target) == {"up": None, "up/in": b"x", "way": None, "way/in": b"x"}


@pytest.mark.parametrize(
    "name",
    [
        "logs/../x",
        "logs/a/../../x",
        "logs/line\nbreak",
        "logs/\x1b[2J",
        "logs/na\u202eme",
        "logs/\udcff",
        "logs/a\x7f",
    ],
)
def test_a_name_that_leads_out_or_cannot_be_shown_is_refused(target: Path, name: str) -> None:
    assert take_folder(packed([(name, FILE, b"x")], tarfile.GNU_FORMAT), target, AMPLE).refused == 1
    assert found(target.parent) == {"target": None}


@pytest.mark.parametrize(
    "name", ["logs/" + "d/" * 2000 + "f", "logs/" + ("e" * 200 + "/") * 20 + "f", "logs/" + "n" * 300]
)
def test_what_lies_too_deep_or_is_called_too_long_is_refused(target: Path, name: str) -> None:
    """Walking, copying or removing it would fail later, in the middle of a run."""
    assert take_folder(packed([(name, FILE, b"x"), ("logs/y", FILE, b"y")]), target, AMPLE).refused == 1
    assert found(target) == {"y": b"y"}


def test_the_first_of_two_with_one_name_stands(target: Path) -> None:
    members = [
        ("logs/x", FILE, b"1"),
        ("logs/x", FILE, b"2"),
        ("logs/x", FOLDER, b""),
        ("logs/x/y", FILE, b"3"),
    ]
    assert take_folder(packed(members), target, AMPLE).refused == 3
    assert found(target) == {"x": b"1"}


def test_the_folder_itself_may_be_anything(target: Path) -> None:
    for kind, data in ((FILE, b"x"), (tarfile.SYMTYPE, b"/etc"), (tarfile.FIFOTYPE, b"")):
        assert take_folder(packed([("logs", kind, data)]), target, AMPLE).refused == 1
    assert found(target) == {}


def test_a_large_file_is_cut(target: Path) -> None:
    taken = take_folder(packed([("logs/x", FILE, b"x" * 5000), ("logs/y", FILE, b"y")]), target, AMPLE)
    assert taken == Taken(files=2, size=1001, cut=1)
    assert found(target) == {"x": b"x" * 1000, "y": b"y"}


def test_all_together_are_no_more_than_the_total(target: Path) -> None:
    members = [(f"logs/{number}", FILE, b"x" * 999) for number in range(50)]
    taken = take_folder(packed(members), target, AMPLE)
    assert taken.size == AMPLE.total
    assert taken.cut >= 1


def test_files_and_folders_are_no_more_than_the_entries(target: Path) -> None:
    members = [(f"logs/{number}", FOLDER if number % 2 else FILE, b"") for number in range(500)]
    assert take_folder(packed(members), target, AMPLE).cut == 1
    assert len(found(target)) <= AMPLE.entries + 1


def test_a_report_is_cut_one_byte_after_what_is_allowed(target: Path) -> None:
    assert take_file(packed([("report.md", FILE, b"x" * 100)]), target, 11) == Taken(files=1, size=11, cut=1)
    assert target.stat().st_size == 11


def test_a_stream_that_breaks_off_is_an_error_and_keeps_what_came(target: Path) -> None:
    data = packed([("logs/x", FILE, b"x" * 600), ("logs/y", FILE, b"y" * 900)]).read()
    with pytest.raises(tarfile.ReadError):
        take_folder(io.BytesIO(data[:2300]), target, AMPLE)
    assert found(target)["x"] == b"x" * 600


@pytest.mark.parametrize("data", [b"", b"no tar at all" * 100])
def test_what_is_no_tar_is_an_error(target: Path, data: bytes) -> None:
    with pytest.raises(tarfile.ReadError):
        take_folder(io.BytesIO(data), target, AMPLE)
    with pytest.raises(tarfile.ReadError):
        take_file(io.BytesIO(data), target / "report.md", 10)


PARTS = st.sampled_from(["..", ".", "", "a", "b", "c\n", "d" * 256, "/", "logs", "\u202e", "-f", " "])
NAMES = st.lists(PARTS, min_size=1, max_size=40).map("/".join).filter(bool)
MEMBERS = st.tuples(
    NAMES,
    st.sampled_from([FILE, FILE, FOLDER, *OTHERS]),
    st.sampled_from([b"", b"../a", b"/etc", b"x" * 1500]),
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(MEMBERS, max_size=12))
def test_nothing_but_files_and_folders_arrives_and_none_of_it_outside(
    tmp_path_factory: pytest.TempPathFactory, members: list[Member]
) -> None:
    outer = tmp_path_factory.mktemp("outer")
    taken = take_folder(packed(members, tarfile.GNU_FORMAT), outer / "target", AMPLE)
    assert [path.name for path in outer.iterdir()] == ["target"]
    sizes = []
    for folder, folders, files in (outer / "target").walk(follow_symlinks=False):
        for name in [*folders, *files]:
            status = (folder / name).lstat()
            assert stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)
            assert name.isprintable()
        sizes += [(folder / name).lstat().st_size for name in files]
    assert (len(sizes), sum(sizes)) == (taken.files, taken.size)
    assert all(size <= AMPLE.file for size in sizes)
