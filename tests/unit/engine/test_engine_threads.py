"""How many threads compute, and where."""

import os
from itertools import pairwise
from pathlib import Path

import pytest

from apps import cpus
from apps.cpus import read_quota
from apps.engine.errors import BadRequest
from apps.engine.threads import default_threads, exclusive_cpus


@pytest.fixture(autouse=True)
def four_cpus(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine with eight CPUs, four of them for this process, in the cgroup /pod/one."""
    monkeypatch.delenv("ENGINE_THREADS", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {2, 3, 6, 7})
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    monkeypatch.setattr(cpus, "_own_cgroups", lambda: [tmp_path / "one", tmp_path])
    (tmp_path / "one").mkdir()


@pytest.mark.parametrize(
    ("own", "above", "count"),
    [
        ("max 100000", "max 100000", 4),
        ("200000 100000", "max 100000", 2),
        ("150000 100000", "max 100000", 2),
        ("10000 100000", "max 100000", 1),
        ("max 100000", "100000 100000", 1),
        ("900000 100000", "max 100000", 4),
        ("nonsense", "", 4),
    ],
)
def test_the_smallest_quota_rounded_up_and_the_visible_cpus_decide(
    tmp_path: Path, own: str, above: str, count: int
) -> None:
    (tmp_path / "one" / "cpu.max").write_text(own + "\n")
    (tmp_path / "cpu.max").write_text(above + "\n")
    assert default_threads() == count


def test_without_cgroups_the_visible_cpus_decide() -> None:
    assert default_threads() == 4


def test_no_file_is_no_quota(tmp_path: Path) -> None:
    assert read_quota(tmp_path / "nothing") is None


def test_the_environment_decides_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGINE_THREADS", "7")
    assert default_threads() == 7


@pytest.mark.parametrize("text", ["0", "65", "-1", "two", "1.5", "٣"])
def test_an_impossible_number_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("ENGINE_THREADS", text)
    with pytest.raises(BadRequest, match="ENGINE_THREADS"):
        default_threads()


def test_threads_are_pinned_only_to_a_set_of_their_own_size() -> None:
    assert exclusive_cpus(4) == (2, 3, 6, 7)
    assert exclusive_cpus(2) == ()


def test_nothing_is_pinned_where_every_cpu_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    assert exclusive_cpus(4) == ()


def test_own_cgroups_are_this_process_and_those_above(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    found = cpus._own_cgroups()
    assert found[-1] == Path("/sys/fs/cgroup")
    assert all(child.parent == parent for child, parent in pairwise(found))
