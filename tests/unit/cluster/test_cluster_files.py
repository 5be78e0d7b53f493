"""What processes of one cluster leave for each other on disk."""

import fcntl
from pathlib import Path

import pytest

from deploy.cluster import files


def test_a_file_is_replaced_whole_and_nothing_else_is_left(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("old")
    with file.open() as reader:
        files.write(file, "new")
        assert reader.read() == "old"
    assert file.read_text() == "new"
    assert list(tmp_path.iterdir()) == [file]


def test_the_same_text_is_not_written_again(tmp_path: Path) -> None:
    file = tmp_path / "file"
    files.write(file, "text")
    before = file.stat().st_ino
    files.write(file, "text")
    assert file.stat().st_ino == before


def test_a_secret_is_never_readable_by_others_whatever_was_left_there(tmp_path: Path) -> None:
    (tmp_path / ".file.new").write_text("left by a killed process")
    files.write(tmp_path / "file", "secret", 0o600)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o600


def test_one_process_at_a_time_is_alone(tmp_path: Path) -> None:
    lock = tmp_path / "made" / "lock"

    def take() -> None:
        with lock.open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    with files.alone(lock), pytest.raises(BlockingIOError):
        take()
    take()
