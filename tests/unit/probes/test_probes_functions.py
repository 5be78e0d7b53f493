"""Which functions a request ran: every kind of function, exact counts, and nothing left behind."""

import asyncio
import gc
import importlib
import inspect
import sys
import threading
import weakref
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from observability import native, probes
from observability.native import FUNCTIONS
from observability.probes import carry, finder, request
from observability.probes.functions import Packages
from observability.probes.request import begin
from tests.unit.probes.fake_points import FakePoints

WORKLOAD = "tests.unit.probes.workload"


@pytest.fixture
def points(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakePoints]:
    """The points of a process whose workload package is prepared; all off again at the end."""
    fake = FakePoints()
    monkeypatch.setattr(native, "load", lambda: fake)
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    monkeypatch.delitem(sys.modules, WORKLOAD, raising=False)
    yield fake
    fake.on = 0
    request._look()
    request.watch(request._nothing)


@pytest.fixture
def workload(points: FakePoints) -> ModuleType:
    """The workload, imported after `start`."""
    assert probes.start({"PROBES": WORKLOAD})
    return importlib.import_module(WORKLOAD)


def both(name: str, count: int) -> dict[tuple[str, str], int]:
    return {(name, "entry"): count, (name, "return"): count}


def test_plain_functions_are_counted_exactly(points: FakePoints, workload: ModuleType) -> None:
    points.on = FUNCTIONS
    with begin("r"):
        workload.calls()
    assert points.counts() == {
        **both("calls", 1),
        **both("leaf", 24),
        **both("descend", 5),
        ("fails", "entry"): 3,
        ("fails", "unwind"): 3,
        **both("Kind.method", 2),
        **both("Kind.static", 1),
        **both("Kind.of_class", 1),
        **both("Kind.property", 1),
        **both("Kind.cached", 1),
        **both("nested", 5),
        **both("nested.<locals>.inner", 5),
    }
    assert {name for name, _, _ in points.events} == {"r"}


def test_generators_yield_and_resume(points: FakePoints, workload: ModuleType) -> None:
    points.on = FUNCTIONS
    with begin("r"):
        workload.pauses()
    counts = points.counts()
    # A closed generator's end is missing on some versions; its beginning never is.
    closed = counts.pop(("generator", "unwind"), 0)
    assert closed <= 1
    assert counts == {
        **both("pauses", 1),
        ("generator", "entry"): 2,
        ("generator", "yield"): 5,
        ("generator", "resume"): 4 + closed,
        ("generator", "return"): 1,
        ("managed", "entry"): 1,
        ("managed", "yield"): 1,
        ("managed", "resume"): 1,
        ("managed", "return"): 1,
    }


def test_coroutines_yield_and_resume(points: FakePoints, workload: ModuleType) -> None:
    points.on = FUNCTIONS
    with begin("r"):
        asyncio.run(workload.awaits())
    counts = points.counts()
    del counts["awaits", "yield"], counts["awaits", "resume"]
    assert counts == {
        **both("awaits", 1),
        ("coroutine", "entry"): 8,
        ("coroutine", "yield"): 15,
        ("coroutine", "resume"): 15,
        ("coroutine", "return"): 7,
        ("coroutine", "unwind"): 1,
        ("asynchronous", "entry"): 2,
        ("asynchronous", "yield"): 8,
        ("asynchronous", "resume"): 8,
        ("asynchronous", "return"): 1,
        ("asynchronous", "unwind"): 1,
    }


def test_interleaved_requests_are_told_apart(points: FakePoints, workload: ModuleType) -> None:
    async def serve(name: str, steps: int) -> None:
        with begin(name):
            await workload.coroutine(steps)

    async def both_at_once() -> None:
        await asyncio.gather(serve("seven", 7), serve("eleven", 11))

    points.on = FUNCTIONS
    asyncio.run(both_at_once())
    yields = [name for name, _, what in points.events if what == "yield"]
    assert (yields.count("seven"), yields.count("eleven"), len(yields)) == (7, 11, 18)


def test_a_request_is_carried_into_threads_and_executors(
    points: FakePoints, workload: ModuleType
) -> None:
    points.on = FUNCTIONS
    with begin("far"):
        asyncio.run(workload.elsewhere())
    leaves = [name for name, function, what in points.events if function.endswith("leaf")]
    assert leaves == ["far"] * 14


def test_nothing_is_traced_or_changed_while_nobody_is_attached(
    points: FakePoints, workload: ModuleType
) -> None:
    code = workload.leaf.__code__
    with begin("r"):
        workload.calls()
    assert not points.events
    points.on = FUNCTIONS
    with begin("r"):
        workload.leaf(1)
    points.on = 0
    points.events.clear()
    with begin("r"):
        workload.calls()
        asyncio.run(workload.elsewhere())
    assert not points.events
    assert workload.leaf.__code__ is code
    assert (carry._submit, carry._start) == (
        carry.ThreadPoolExecutor.submit,
        carry.threading.Thread.start,
    )


def test_functions_that_were_imported_before_are_traced_too(points: FakePoints) -> None:
    early = importlib.import_module(WORKLOAD)
    leaf = early.leaf
    assert probes.start({"PROBES": WORKLOAD})
    points.on = FUNCTIONS
    with begin("r"):
        leaf(1)
        early.bound()
    assert points.counts() == {**both("leaf", 1), **both("Kind.method", 1)}


def test_the_kind_of_a_function_does_not_change(points: FakePoints, workload: ModuleType) -> None:
    points.on = FUNCTIONS
    with begin("r"):
        assert inspect.iscoroutinefunction(workload.coroutine)
        assert inspect.isasyncgenfunction(workload.asynchronous)
        assert inspect.isgeneratorfunction(workload.generator)
        assert not inspect.isgeneratorfunction(workload.leaf)
        waiting = workload.coroutine(1)
        assert inspect.iscoroutine(waiting)
        waiting.close()


def test_functions_may_be_defined_while_tracing_is_turned_on_and_off(points: FakePoints) -> None:
    driver = probes._driver(points)
    finder.install(Packages((WORKLOAD,)), driver)
    workload = importlib.import_module(WORKLOAD)
    over = threading.Event()
    kept = [workload.nested() for _ in range(500)]

    def define() -> None:
        while not over.is_set():
            assert workload.nested()() == 1

    threads = [threading.Thread(target=define) for _ in range(2)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for _ in range(5):
            driver.on(lambda name: True)
            driver.off()
    finally:
        over.set()
        for thread in threads:
            thread.join()
        sys.setswitchinterval(interval)
    points.events.clear()
    assert [function() for function in kept] == [1] * 500
    assert not points.events


def test_a_function_that_is_gone_is_not_kept(points: FakePoints, workload: ModuleType) -> None:
    points.on = FUNCTIONS
    with begin("r"):
        gone = weakref.ref(workload.nested())
        gc.collect()
        assert gone() is None


def test_wrong_arguments_fail_as_they_do_untraced(points: FakePoints, workload: ModuleType) -> None:
    points.on = FUNCTIONS
    with begin("r"), pytest.raises(TypeError, match=r"^leaf\(\) missing 1 required"):
        workload.leaf()


def test_a_packages_name_is_not_a_prefix_of_anothers(points: FakePoints) -> None:
    assert probes.start({"PROBES": WORKLOAD.removesuffix("load")})
    points.on = FUNCTIONS
    with begin("r"):
        importlib.import_module(WORKLOAD).leaf(1)
    assert not points.events


def test_globs_change_while_the_process_runs(
    points: FakePoints, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    control = tmp_path / "probes"
    assert probes.start({"PROBES": WORKLOAD, "PROBES_CONTROL": str(control)})
    workload = importlib.import_module(WORKLOAD)
    points.on = FUNCTIONS

    def traced() -> set[str]:
        points.events.clear()
        with begin("r"):
            workload.calls()
        return {name for name, _ in points.counts()}

    assert {"leaf", "descend"} < traced()
    control.write_text(f"function {WORKLOAD}.Kind.*  # methods only\nfunction *.descend\n")
    assert traced() == {"descend", *(f"Kind.{m}" for m in ("method", "static", "of_class",
                                                           "property", "cached"))}  # fmt: skip
    control.write_text("functions everything\n")
    assert "descend" in traced()
    assert "line 1 is 'functions everything'; write `function GLOB`" in caplog.text
    control.unlink()
    assert {"leaf", "descend"} < traced()


def test_without_the_compiled_module_the_process_runs_untraced(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    gone = replace(native.EXTENSION, module=tmp_path / "gone.so")
    monkeypatch.setattr(native, "EXTENSION", gone)
    native.load.cache_clear()
    assert not probes.start({"PROBES": WORKLOAD})
    native.load.cache_clear()
    assert "run `python -m observability.native`" in caplog.text


def test_without_packages_nothing_is_prepared() -> None:
    finders = list(sys.meta_path)
    assert not probes.start({})
    assert sys.meta_path == finders


def test_work_for_several_requests_at_once_is_called_shared(
    points: FakePoints, workload: ModuleType
) -> None:
    points.on = FUNCTIONS
    for names in (["one", "one"], ["one", "two"], ["", "two"], []):
        with request.begin_all(names):
            workload.leaf(1)
    assert [name for name, _, what in points.events if what == "entry"] == [
        "one",
        request.SHARED,
        request.SHARED,
        "",
    ]


def test_a_module_is_left_out_of_its_package() -> None:
    packages = Packages.read("a.b, -a.b.c ,d,")
    assert [name in packages for name in ("a.b", "a.b.x", "a.b.cc", "d.e")] == [True] * 4
    assert [name in packages for name in ("a", "a.b.c", "a.b.c.x", "-a.b.c")] == [False] * 4
    assert not Packages.read("-a")
