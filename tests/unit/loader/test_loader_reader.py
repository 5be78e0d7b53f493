"""The process that reads strangers' files: killed, starved or slow, the next file is read."""

import os
import signal
from dataclasses import replace
from pathlib import Path

import pymupdf
import pytest

from apps.loader import reader
from apps.loader.errors import Unreadable
from apps.loader.limits import MIB, Limits
from apps.loader.reader import Reader
from tests.unit.loader.pdfs import lines, pdf


@pytest.fixture
def sound(tmp_path: Path) -> Path:
    return pdf(tmp_path / "a.pdf", lambda page: lines(page, ["Claims are paid in five days."]))


def test_files_are_read_one_after_the_other_by_one_process(sound: Path) -> None:
    with Reader(Limits()) as reader:
        first = reader.read(sound)
        pid = reader.pid
        assert reader.read(sound) == first
        assert reader.pid == pid
    assert first.pages == 1


def test_a_bad_file_does_not_end_the_process(sound: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.pdf"
    bad.write_bytes(b"%PDF-1.4 nonsense")
    with Reader(Limits()) as reader:
        with pytest.raises(Unreadable, match="damaged"):
            reader.read(bad)
        assert reader.read(sound).pages == 1


def test_after_a_crash_the_next_file_is_read(sound: Path) -> None:
    with Reader(Limits()) as reader:
        reader.read(sound)
        assert reader.pid is not None
        os.kill(reader.pid, signal.SIGSEGV)
        with pytest.raises(Unreadable, match=r"crashed: the reader ended with -11"):
            reader.read(sound)
        assert reader.read(sound).pages == 1


@pytest.mark.parametrize("answer", ["warning: bad", "3", "{}", "[" * 5_000, '{"date": 7}'])
def test_an_answer_that_is_none_is_the_matter_of_one_file(
    answer: str, sound: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as babbling:
        babbling.setattr(reader, "MODULE", "tests.unit.loader.babbler")
        babbling.setenv("PATH", answer)
        with Reader(Limits()) as asked:
            for ask in (asked.read, lambda path: asked.picture(path, 1)):
                with pytest.raises(Unreadable, match="crashed: the reader's answer is none"):
                    ask(sound)
                assert asked.pid is None


def test_a_file_that_takes_too_long_is_given_up(sound: Path) -> None:
    with Reader(replace(Limits(), seconds=0.0)) as reader:
        with pytest.raises(Unreadable, match="too slow: not read within 0 s"):
            reader.read(sound)
        assert reader.pid is None


def test_a_file_that_takes_too_much_memory_is_given_up(tmp_path: Path, sound: Path) -> None:
    """32 million letters on one page, packed into a few kilobytes."""
    bomb = tmp_path / "bomb.pdf"
    with pymupdf.open() as document:
        page = document.new_page()
        page.insert_text((9, 9), "x")
        (stream,) = page.get_contents()
        document.update_stream(stream, b"BT /F1 9 Tf (" + b"a" * 32_000_000 + b") Tj ET")
        document.save(bomb, deflate=True)
    with Reader(replace(Limits(), memory=260 * MIB, characters=10**9)) as reader:
        with pytest.raises(Unreadable, match="too much memory: more than 260 MiB"):
            reader.read(bomb)
        assert reader.read(sound).pages == 1


def test_the_reading_process_has_no_secrets(sound: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://loader:secret@host/db")
    with Reader(Limits()) as reader:
        reader.read(sound)
        environment = Path(f"/proc/{reader.pid}/environ").read_bytes()
    assert b"secret" not in environment


def test_an_answer_without_end_is_given_up(sound: Path) -> None:
    with Reader(replace(Limits(), answer=10)) as reader:
        with pytest.raises(Unreadable, match="too large: it has too many pieces of text"):
            reader.read(sound)
        assert reader.pid is None


def test_after_a_large_answer_the_process_is_another(
    sound: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it took stays with it: together with what the answer takes it would be too much."""
    monkeypatch.setattr("apps.loader.reader.LARGE", 10)
    with Reader(Limits()) as reader:
        assert reader.read(sound).pages == 1
        assert reader.pid is None
        assert reader.read(sound).pages == 1
