"""The request ring: what is written is read, whatever happens to the writer or the file."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from observability import native
from observability.ring import LINES, Ring, layout, read, writer
from observability.ring.__main__ import main
from observability.ring.writer import encode, write

ROOT = Path(__file__).parents[3]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "requests.ring"


def ring(path: Path, **more: Any) -> Ring:
    return Ring(path, native.load(), **more)


def numbers(path: Path) -> list[int]:
    """The field `n` of each line."""
    return [json.loads(line.text)["n"] for line in read(path).lines]


def test_the_last_lines_are_kept_in_order(path: Path) -> None:
    to = ring(path)
    for n in range(2 * layout.SLOTS + 7):
        assert to.append({"n": n})
    assert numbers(path) == list(range(2 * layout.SLOTS + 7))[-LINES:]
    assert (read(path).unfinished, read(path).damaged, read(path).problems) == (0, 0, [])


def test_the_file_is_there_before_the_first_line(path: Path) -> None:
    ring(path)
    assert (read(path).lines, read(path).problems) == ([], [])


def test_a_second_process_goes_on_where_the_first_ended(path: Path) -> None:
    ring(path).append({"n": 1})
    ring(path).append({"n": 2})
    assert numbers(path) == [1, 2]


class Cut(Exception):
    """The writer ends here."""


class FailingMemory(bytearray):
    """Memory whose writer ends before its write number `left`."""

    left = 0

    def __setitem__(self, place: Any, value: Any) -> None:
        if not self.left:
            raise Cut
        self.left -= 1
        super().__setitem__(place, value)


@pytest.mark.parametrize("writes", range(4))
def test_a_writer_that_ends_between_two_writes_leaves_a_whole_line_or_none(writes: int) -> None:
    memory = FailingMemory(layout.FILE_BYTES)
    number = 7 + layout.SLOTS
    before, after = layout.Line(7, b'{"old":1}'), layout.Line(number, b'{"new":1}')
    memory.left = 3
    write(memory, before)
    memory.left = writes
    if writes < 3:
        with pytest.raises(Cut):
            write(memory, after)
    else:
        write(memory, after)
    start = layout.offset(number)
    place = bytes(memory[start : start + layout.SLOT_BYTES])
    assert layout.line_of(place) == {0: before, 3: after}.get(writes)
    assert layout.is_empty(place) == (writes in (1, 2))


WRITER = """
import sys
from pathlib import Path
from observability import native
from observability.ring import Ring
ring = Ring(Path(sys.argv[1]), native.load())
for n in range(1, int(sys.argv[3]) + 1):
    assert ring.append({"n": n, "who": sys.argv[2]})
    print(n, flush=True)
"""


def start_writer(path: Path, who: str, most: int = 10**9) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", WRITER, str(path), who, str(most)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def killed_after(writer: "subprocess.Popen[str]", count: int) -> int:
    """Kill it once it says that it has written `count` lines; the last number that it said."""
    assert writer.stdout
    said = 0
    while said < count:
        said = int(writer.stdout.readline())
    writer.kill()
    *_, last = [said, *(int(n) for n in writer.stdout.read().split("\n")[:-1])]
    writer.stdout.close()
    writer.wait()
    return last


@pytest.mark.parametrize("count", [1, 11, 23, 101, 1009])
def test_kill_costs_at_most_the_line_being_written(path: Path, count: int) -> None:
    for who in ("first", "second"):
        said = killed_after(start_writer(path, who), count)
        contents = read(path)
        assert contents.damaged == 0
        assert contents.unfinished <= 2
        written = [json.loads(line.text) for line in contents.lines]
        kept = [one["n"] for one in written if one["who"] == who]
        assert kept[-1] in (said, said + 1)
        assert kept == list(range(kept[0], kept[-1] + 1))
        assert len(written) == LINES or kept[0] == 1


def test_several_processes_write_at_once(path: Path) -> None:
    writers = [start_writer(path, who, 307) for who in "abc"]
    for one in writers:
        one.communicate()
        assert one.returncode == 0
    written = [json.loads(line.text) for line in read(path).lines]
    for who in "abc":
        assert [one["n"] for one in written if one["who"] == who] == list(range(1, 308))


def test_a_file_that_is_removed_or_cut_is_made_again(path: Path) -> None:
    to = ring(path)
    to.append({"n": 1})
    path.unlink()
    assert to.append({"n": 2})
    assert numbers(path) == [2]
    os.truncate(path, 5000)
    assert to.append({"n": 3})
    assert numbers(path) == [3]
    assert path.with_name("requests.ring.old").stat().st_size == 5000


def test_a_file_of_another_format_is_put_aside(path: Path) -> None:
    path.write_bytes(b"somebody else's")
    assert ring(path).append({"n": 1})
    assert numbers(path) == [1]
    assert path.with_name("requests.ring.old").read_bytes() == b"somebody else's"


def test_a_full_disk_costs_lines_and_is_tried_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int, start: int, length: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    now = [0.0]
    with monkeypatch.context() as patched:
        patched.setattr(os, "posix_fallocate", full)
        to = ring(path, clock=lambda: now[0])
        assert not to.append({"n": 1})
        assert list(path.parent.iterdir()) == []
    assert not to.append({"n": 2})
    assert to.lost == 2
    now[0] += writer.RETRY_S
    assert to.append({"n": 3})
    assert numbers(path) == [3]


def test_a_folder_that_is_not_there_costs_lines_only(tmp_path: Path) -> None:
    assert not ring(tmp_path / "nowhere" / "ring").append({"n": 1})


def test_the_disk_space_is_there_before_the_memory_is_used(path: Path) -> None:
    ring(path).append({"n": 1})
    assert path.stat().st_blocks * 512 >= layout.FILE_BYTES


@pytest.mark.parametrize("at", [8, 20, layout.offset(2) + 30])
def test_damage_is_reported_and_the_good_lines_are_kept(path: Path, at: int) -> None:
    to = ring(path)
    for n in (1, 2, 3):
        to.append({"n": n, "text": "some words to damage"})
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)
    assert numbers(path) == ([1, 3] if at > layout.HEAD_BYTES else [1, 2, 3])
    assert len(read(path).problems) == 1


def test_a_file_cut_short_keeps_its_good_lines(path: Path) -> None:
    to = ring(path)
    for n in (1, 2, 3):
        to.append({"n": n})
    os.truncate(path, layout.offset(3))
    assert numbers(path) == [1, 2]
    assert read(path).problems == [
        f"the file is cut short: {layout.offset(3)} of {layout.FILE_BYTES} bytes"
    ]


def test_a_line_begun_and_not_ended_is_counted(path: Path) -> None:
    to = ring(path)
    to.append({"n": 1})
    memory = to._memory()
    assert memory is not None
    native.load().take_number(memory, layout.COUNTER)
    to.append({"n": 3})
    assert numbers(path) == [1, 3]
    assert read(path).unfinished == 1


def test_an_old_line_of_a_writer_that_was_stopped_for_long_is_not_shown(path: Path) -> None:
    to = ring(path)
    for n in range(layout.SLOTS + 5):
        to.append({"n": n + 1})
    memory = to._memory()
    assert memory is not None
    write(memory, layout.Line(2, encode({"n": 2})))
    assert 2 not in numbers(path)
    assert len(numbers(path)) == LINES


def test_a_line_that_does_not_fit_says_what_is_left_out(path: Path) -> None:
    ring(path).append({"n": 1, "reason": "汉" * 5000, "request": "r"})
    assert json.loads(read(path).lines[0].text) == {"n": 1, "request": "r", "cut": ["reason"]}


def test_what_is_no_text_is_written_all_the_same(path: Path) -> None:
    ring(path).append({"n": 1, "text": "\ud800", "path": Path("/x")})
    assert numbers(path) == [1]


def test_the_counter_is_not_taken_outside_the_buffer() -> None:
    for offset in (-1, -8, 1, 9, 16, 2**62):
        with pytest.raises(ValueError, match="no 8 aligned bytes"):
            native.load().take_number(bytearray(16), offset)


def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, path: Path) -> Any:
    monkeypatch.setattr("sys.argv", ["ring", str(path)])
    return main(), capsys.readouterr()


def test_the_command_prints_lines_and_says_what_is_wrong(
    path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ring(path).append({"n": 1})
    code, said = run(capsys, monkeypatch, path)
    assert (code, said.out) == (0, '{"n":1}\n')
    assert said.err == "1 lines, 0 unfinished, 0 damaged\n"
    os.truncate(path, layout.offset(2))
    code, said = run(capsys, monkeypatch, path)
    assert (code, said.out) == (1, '{"n":1}\n')
    assert "cut short" in said.err
    path.write_text("foreign")
    code, said = run(capsys, monkeypatch, path)
    assert (code, said.out) == (1, "")
    assert "not a ring of this format" in said.err
    code, said = run(capsys, monkeypatch, path.parent / "gone")
    assert (code, said.err) == (2, f"error: {path.parent / 'gone'}: No such file or directory\n")
