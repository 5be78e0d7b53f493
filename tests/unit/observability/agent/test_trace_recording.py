"""A recording's file: bounded, whole lines only, whatever the disk says."""

import json
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from observability.agent.recording import RecordingFile
from observability.bpf.errors import TraceError

LINE = {"layer": "token", "filler": "x" * 200}


@contextmanager
def files_no_longer_than(size: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_it_begins_with_what_its_times_mean(tmp_path: Path) -> None:
    file = RecordingFile(tmp_path / "t", 1 << 20)
    file.write([LINE])
    file.close()
    header, line = lines(tmp_path / "t")
    assert header["layer"] == "header"
    assert header["format"] == 1
    assert isinstance(header["realtime_offset_ns"], int)
    assert line == LINE


def test_a_full_file_is_put_aside_and_the_older_one_goes(tmp_path: Path) -> None:
    file = RecordingFile(tmp_path / "t", 1000)
    for number in range(40):
        file.write([LINE | {"number": number}])
    file.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t", "t.1"]
    assert all(path.stat().st_size < 1300 for path in tmp_path.iterdir())
    assert [path["layer"] for path in (lines(tmp_path / "t")[0], lines(tmp_path / "t.1")[0])] == [
        "header",
        "header",
    ]
    assert lines(tmp_path / "t")[-1]["number"] == 39


def test_a_full_disk_costs_lines_which_are_counted_and_leaves_no_half_one(tmp_path: Path) -> None:
    file = RecordingFile(tmp_path / "t", 1 << 20)
    with files_no_longer_than(1000):
        for _ in range(10):
            file.write([LINE])
        refused = file.dropped
    file.write([LINE | {"after": True}])
    file.close()
    assert 0 < refused < 10
    written = lines(tmp_path / "t")
    assert len(written) == 1 + 10 - refused + 1
    assert written[-1]["after"] is True


def test_a_file_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"cannot write .*none/t: No such file"):
        RecordingFile(tmp_path / "none" / "t", 1000)
    with pytest.raises(TraceError, match="cannot write /dev/full: No space"):
        RecordingFile(Path("/dev/full"), 1000)
