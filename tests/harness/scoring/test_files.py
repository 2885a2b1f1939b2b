import os
import socket
from pathlib import Path

import pytest

from harness.scoring.files import FileReading, read_file


def test_a_regular_file_up_to_the_cap_is_read(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "report.md").write_bytes(b"x" * 10)
    assert read_file(tmp_path, "a", "report.md", cap=10) == FileReading(b"x" * 10)
    assert read_file(tmp_path, "a", "report.md", cap=9).problem == "is larger than 9 bytes"


def test_what_is_not_there_is_missing(tmp_path: Path) -> None:
    for parts in (("a",), ("a", "b")):
        assert read_file(tmp_path, *parts, cap=9).missing
    assert read_file(tmp_path / "none", "a", cap=9).missing


def test_no_link_is_followed_neither_to_a_file_nor_through_a_folder(tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "file").write_text("secret")
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "file").symlink_to(tmp_path / "secret" / "file")
    (inside / "folder").symlink_to(tmp_path / "secret")
    (inside / "nowhere").symlink_to(tmp_path / "none")
    for parts in (("file",), ("folder", "file"), ("nowhere",)):
        assert read_file(inside, *parts, cap=99).problem == "is not a regular file that can be read"


def test_pipes_sockets_devices_and_folders_are_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        for name in ("pipe", "folder", "socket"):
            assert read_file(tmp_path, name, cap=9).problem
    assert read_file(Path("/dev"), "zero", cap=9).problem == "is not a regular file"


def test_a_sparse_giant_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "giant").open("wb") as file:
        file.truncate(1 << 40)
    assert read_file(tmp_path, "giant", cap=1 << 16).problem == "is larger than 65536 bytes"


@pytest.mark.parametrize("root", ["file", "file/inner"])
def test_a_root_that_is_no_folder_holds_nothing(tmp_path: Path, root: str) -> None:
    (tmp_path / "file").write_text("x")
    assert read_file(tmp_path / root, "a", cap=9).missing
