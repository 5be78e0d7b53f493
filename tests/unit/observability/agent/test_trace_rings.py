"""Rings are followed through their process's root, each line once."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from observability.agent.events import ring_record
from observability.agent.rings import Rings
from observability.native import load
from observability.ring import Ring


@pytest.fixture
def ring(tmp_path: Path) -> Ring:
    return Ring(tmp_path / "ring", load())


def _worker(ring: Path) -> "subprocess.Popen[bytes]":
    environment = {**os.environ, "REQUESTS_RING": str(ring)}
    command = [sys.executable, "-c", "print(flush=True); input()"]
    worker = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    )
    assert worker.stdout
    # Until it runs, the kernel may not tell its environment yet.
    assert worker.stdout.readline()
    return worker


@pytest.fixture
def pids(tmp_path: Path) -> Iterator[dict[int, str]]:
    """Two workers that share one ring."""
    workers = [_worker(tmp_path / "ring") for _ in range(2)]
    yield {worker.pid: "green" for worker in workers}
    for worker in workers:
        worker.communicate(b"\n")


def test_each_line_comes_once_though_two_processes_share_the_file(
    ring: Ring, pids: dict[int, str]
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
    tmp_path: Path, pids: dict[int, str]
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
    tmp_path: Path, ring: Ring, pids: dict[int, str]
) -> None:
    rings = Rings()
    ring.append({"request_id": "a"})
    assert len(list(rings.news(pids))) == 1
    ring.append({"request_id": "b"})
    (tmp_path / "ring").unlink()
    held = len(os.listdir("/proc/self/fd"))
    assert [line["request_id"] for line in rings.news({})] == ["b"]
    assert len(os.listdir("/proc/self/fd")) == held - 1
    assert list(rings.news({})) == []


def test_a_line_that_is_no_request_is_passed_over(ring: Ring, pids: dict[int, str]) -> None:
    ring.append({"request_id": 7})
    ring.append({"nothing": "here"})
    ring.append({"request_id": "a", "layer": "loss"})
    (line,) = Rings().news(pids)
    assert (line["request_id"], line["layer"]) == ("a", "ring")


def test_the_lane_is_the_pods_and_not_what_it_writes(ring: Ring, pids: dict[int, str]) -> None:
    ring.append({"request_id": "a", "lane": "blue"})
    assert [line["lane"] for line in Rings().news(pids)] == ["green"]


@pytest.mark.parametrize("line", ["[" * 1_900, '{"request_id": "a", "intent": "\\ud800"}'])
def test_a_line_that_nobody_could_write_down_is_passed_over(line: str) -> None:
    assert ring_record(line.encode()) is None


def test_no_link_leads_to_another_pods_ring(
    tmp_path: Path, ring: Ring, pids: dict[int, str]
) -> None:
    ring.append({"request_id": "a"})
    (tmp_path / "other").mkdir()
    (tmp_path / "ring").rename(tmp_path / "other" / "ring")
    (tmp_path / "link").symlink_to(tmp_path / "other")
    for place, lines in (("other", 1), ("link", 0), ("link/../other", 0), ("other/none", 0)):
        with _worker(tmp_path / place / "ring") as worker:
            assert len(list(Rings().news({worker.pid: "green"}))) == lines
            worker.communicate(b"\n")


def test_a_process_without_a_ring_or_that_went_is_passed_over(pids: dict[int, str]) -> None:
    assert list(Rings().news({os.getpid(): "green", 2**22 + 1: "green"})) == []
    # They name a file that nobody has made yet.
    assert list(Rings().news(pids)) == []
