"""Rings are followed through their process's root, each line once."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from observability.agent.rings import Rings
from observability.native import load
from observability.ring import Ring


@pytest.fixture
def ring(tmp_path: Path) -> Ring:
    return Ring(tmp_path / "ring", load())


@pytest.fixture
def pids(tmp_path: Path) -> Iterator[list[int]]:
    """Two workers that share one ring."""
    command = [sys.executable, "-c", "input()"]
    environment = {**os.environ, "REQUESTS_RING": str(tmp_path / "ring")}
    workers = [subprocess.Popen(command, stdin=subprocess.PIPE, env=environment) for _ in range(2)]
    yield [worker.pid for worker in workers]
    for worker in workers:
        worker.communicate(b"\n")


def test_each_line_comes_once_though_two_processes_share_the_file(
    ring: Ring, pids: list[int]
) -> None:
    rings = Rings()
    ring.append({"request_id": "a"})
    assert [line["request_id"] for line in rings.news(pids)] == ["a"]
    ring.append({"request_id": "b"})
    ring.append({"request_id": "c"})
    news = list(rings.news(pids))
    assert [line["request_id"] for line in news] == ["b", "c"]
    assert news[0]["layer"] == "ring"
    assert list(rings.news(pids)) == []


def test_what_a_pod_puts_in_the_rings_place_does_not_hold_us_up(
    tmp_path: Path, pids: list[int]
) -> None:
    place = tmp_path / "ring"
    for put in (
        lambda: os.mkfifo(place),
        lambda: place.symlink_to("/dev/zero"),
        place.mkdir,
        lambda: place.write_bytes(b"no ring"),
    ):
        put()
        assert list(Rings().news(pids)) == []
        place.rmdir() if place.is_dir() else place.unlink()


def test_the_last_lines_are_read_though_the_pod_took_the_file_away(
    tmp_path: Path, ring: Ring, pids: list[int]
) -> None:
    rings = Rings()
    ring.append({"request_id": "a"})
    assert len(list(rings.news(pids))) == 1
    ring.append({"request_id": "b"})
    (tmp_path / "ring").unlink()
    held = len(os.listdir("/proc/self/fd"))
    assert [line["request_id"] for line in rings.news([])] == ["b"]
    assert len(os.listdir("/proc/self/fd")) == held - 1
    assert list(rings.news([])) == []


def test_a_line_that_is_no_request_is_passed_over(ring: Ring, pids: list[int]) -> None:
    ring.append({"request_id": 7})
    ring.append({"nothing": "here"})
    ring.append({"request_id": "a", "layer": "loss"})
    (line,) = Rings().news(pids)
    assert (line["request_id"], line["layer"]) == ("a", "ring")


def test_a_process_without_a_ring_or_that_went_is_passed_over(pids: list[int]) -> None:
    assert list(Rings().news([os.getpid(), 2**22 + 1])) == []
    # They name a file that nobody has made yet.
    assert list(Rings().news(pids)) == []
