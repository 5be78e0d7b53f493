"""Which ways a kernel is asked for, by its age and by what is to be done the older way."""

import pytest

from observability.bpf import kernel
from observability.bpf.kernel import Ways, release, ways
from observability.bpf.source import flags, text
from observability.bpf.tasks import cpus


@pytest.fixture(autouse=True)
def _first_namespace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "numbers_are_ours", lambda: True)


def test_each_kernel_is_asked_for_what_it_knows() -> None:
    assert ways(kernel=(5, 4)) == Ways(False, False, True, False, False)
    assert ways(kernel=(5, 8)) == Ways(True, False, True, False, False)
    assert ways(kernel=(5, 18)) == Ways(True, False, True, True, False)
    assert ways(kernel=(6, 6)) == Ways(True, True, True, True, False)
    assert ways(kernel=(6, 16)) == Ways(True, True, True, True, True)


def test_the_older_ways_can_be_asked_for() -> None:
    older = ways("perf-buffer", "perf-uprobes", "perf-switches", kernel=(6, 18))
    assert older == Ways(False, False, False, True, True)


def test_links_are_not_for_whoever_counts_processes_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kernel, "numbers_are_ours", lambda: False)
    assert not ways(kernel=(6, 18)).links


def test_releases_as_distributions_write_them() -> None:
    assert release("6.1.0-18-amd64") == (6, 1)
    assert release("5.15.0+") == (5, 15)
    assert release("6.18.44-fc-v669") == (6, 18)


def test_programs_are_compiled_for_the_ways() -> None:
    old = ways("perf-switches", kernel=(5, 4))
    assert flags(["python", "waits"], old, 64) == ["-DPERF_BUFFER", "-DWAITS", "-DPERF_SWITCHES"]
    assert flags(["python"], old, 64) == ["-DPERF_BUFFER"]
    assert "task_ended" not in text(["python", "waits"], old)
    new = ways(kernel=(6, 6))
    assert flags(["python"], new, 64) == ["-DBUFFER_PAGES=64", "-DLINKS", "-DSWITCH_STATE"]
    assert "task_ended" in text(["python"], new)


def test_cpus_as_the_kernel_writes_them() -> None:
    assert cpus("0-2,5\n") == [0, 1, 2, 5]
    assert cpus("0\n") == [0]
