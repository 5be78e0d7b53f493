"""Real programs in the real kernel: known workloads, prime counts, every event accounted for."""

import ctypes
import os
import shutil
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from observability import native
from observability.agent.recorder import Recorder
from observability.bpf.source import Program
from observability.demo.stand_in import compile_into
from observability.native import MODULE

COUNT = 23
MANY = 20_011
Record = dict[str, Any]


class Trace:
    """What a recorder wrote, and its losses once it is over."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.loss: Record = {}

    def of(self, layer: str, **fields: object) -> list[Record]:
        return [r for r in self.records if r["layer"] == layer and fields.items() <= r.items()]


@contextmanager
def traced(*programs: Program, pids: tuple[int, ...] = (), **options: Any) -> Iterator[Trace]:
    trace = Trace()
    recorder = Recorder(programs, trace.records.extend, **options)
    try:
        recorder.follow(pids or (os.getpid(),))
        yield trace
    finally:
        trace.loss = recorder.close()


@pytest.fixture(scope="module")
def points() -> Any:
    """The probe points, called without a driver in between."""
    native.load()
    return ctypes.CDLL(str(MODULE))


def enter(points: Any, name: bytes, frame: int = 0, request: bytes = b"r") -> None:
    points.switchyard_function_entry(request, name, ctypes.c_uint64(frame))


def leave(points: Any, name: bytes, frame: int = 0, how: int = 0, request: bytes = b"r") -> None:
    points.switchyard_function_return(request, name, ctypes.c_uint64(frame), how)


@pytest.mark.parametrize("perf", [False, True], ids=["ring", "perf"])
def test_each_point_is_counted_exactly(points: Any, perf: bool) -> None:
    with traced("python", perf=perf) as trace:
        for number in range(COUNT):
            enter(points, b"f", number + 1)
            leave(points, b"f", number + 1)
            points.switchyard_object_create(b"r", b"T", ctypes.c_uint64(number), ctypes.c_uint64(8))
            points.switchyard_object_destroy(b"T", ctypes.c_uint64(number))
            points.switchyard_object_chain(b"T", ctypes.c_uint64(number), b"A.x <- module m")
            points.switchyard_token(b"r", number, 3, 1)
    kinds = Counter(record["kind"] for record in trace.records if "kind" in record)
    assert kinds == {
        "attached": 1, "entry": COUNT, "return": COUNT, "create": COUNT, "destroy": COUNT,
        "chain": COUNT, "discarded": COUNT,
    }  # fmt: skip
    assert (trace.loss["sent"], trace.loss["lost"]) == (6 * COUNT, 0)
    assert trace.loss["buffer"] == ("perf" if perf else "ring")
    assert [r["token"] for r in trace.of("token")] == list(range(COUNT))
    assert trace.of("python", kind="chain")[0]["holders"] == "A.x <- module m"


@pytest.mark.parametrize("perf", [False, True], ids=["ring", "perf"])
def test_under_overload_lost_and_read_are_what_was_sent(points: Any, perf: bool) -> None:
    with traced("python", perf=perf, pages=16) as trace:
        for number in range(MANY):
            points.switchyard_token(b"r", number, 0, 0)
    assert trace.loss["sent"] == MANY
    assert trace.loss["lost"] > 0
    assert trace.loss["lost"] + trace.loss["read"] == MANY
    assert trace.of("loss")[-1] == trace.loss
    assert len(trace.of("token")) == trace.loss["read"]


def test_semaphores_are_raised_while_we_look_and_only_then(points: Any) -> None:
    module = native.load()
    assert module.attached() == 0
    with traced("python"):
        assert module.attached() == 15
    assert module.attached() == 0


def test_a_recorder_that_was_killed_leaves_nothing_behind() -> None:
    module = native.load()
    child = subprocess.Popen(
        [sys.executable, "-m", "observability", "record", "--pid", str(os.getpid()), "--out",
         os.devnull, "--no-gpu", "--no-waits"],
    )  # fmt: skip
    try:
        while module.attached() != 15:
            assert child.poll() is None
    finally:
        child.kill()
        child.wait()
    # The kernel takes probes out when the last descriptor goes, which is before wait returns
    # or a moment later.
    while module.attached():
        pass


def test_events_of_many_short_threads_are_all_there(points: Any) -> None:
    threads = 1_009
    with traced("python", "waits") as trace:

        def work(number: int) -> None:
            name = b"r%d" % number
            enter(points, b"work", request=name)
            leave(points, b"work", request=name)

        for number in range(threads):
            thread = threading.Thread(target=work, args=(number,))
            thread.start()
            thread.join()
    assert len(trace.of("python", kind="entry")) == threads
    assert len({record["request"] for record in trace.of("python", kind="return")}) == threads
    assert trace.loss["lost"] == 0


def test_time_off_the_cpu_belongs_to_the_function_that_slept(points: Any) -> None:
    with traced("python", "waits") as trace:
        before = threading.Event()
        for _ in range(COUNT):
            enter(points, b"sleeps")
            before.wait(0.002)
            leave(points, b"sleeps")
            before.wait(0.002)
    slept = [r for r in trace.of("wait", runnable=False) if r["ns"] >= 1_500_000]
    assert len(slept) >= COUNT
    assert {record["function"] for record in slept} == {"sleeps"}
    assert {record["request"] for record in slept} == {"r"}


def test_the_current_function_survives_generators_and_ends_that_never_come(
    points: Any, gpu: Path
) -> None:
    driver = ctypes.CDLL(str(gpu / "libcuda.so.1"))
    address = ctypes.c_uint64()

    def allocate(size: int) -> None:
        assert driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size)) == 0

    # One bytes object a function, as the driver has it: a name's address tells functions apart.
    outer, dropped, generator = b"outer", b"dropped", b"generator"
    with traced("python", "gpu") as trace:
        allocate(1)
        enter(points, outer)
        allocate(2)
        enter(points, generator, 77)
        allocate(3)
        leave(points, generator, 77, how=1)
        allocate(4)
        leave(points, generator, 77, how=2)
        allocate(5)
        enter(points, dropped)
        allocate(6)
        leave(points, outer)
        allocate(7)
    functions = {r["bytes"]: r["function"] for r in trace.of("gpu", kind="alloc")}
    assert functions == {
        1: "", 2: "outer", 3: "generator", 4: "outer", 5: "generator", 6: "dropped", 7: "",
    }  # fmt: skip


@pytest.fixture(scope="module")
def gpu(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gpu")
    compile_into(folder)
    return folder


def test_gpu_calls_have_size_result_and_layer(points: Any, gpu: Path) -> None:
    runtime = ctypes.CDLL(str(gpu / "libcudart.so.13"))
    driver = ctypes.CDLL(str(gpu / "libcuda.so.1"))
    made = ctypes.c_uint64()
    pitch = ctypes.c_size_t()
    with traced("python", "gpu") as trace:
        enter(points, b"holder")
        for _ in range(COUNT):
            runtime.cudaMalloc(ctypes.byref(made), ctypes.c_size_t(4099))
            runtime.cudaFree(ctypes.c_void_p(made.value))
        runtime.cudaMalloc(ctypes.byref(made), ctypes.c_size_t(13))
        driver.cuMemAllocPitch_v2(ctypes.byref(made), ctypes.byref(pitch), ctypes.c_size_t(100),
                                  ctypes.c_size_t(7), 4)  # fmt: skip
        driver.cuMemCreate(ctypes.byref(made), ctypes.c_size_t(1 << 21), None, ctypes.c_uint64(0))
        leave(points, b"holder")
    good = trace.of("gpu", call="cudaMalloc", result=0)
    assert [r["bytes"] for r in good] == [4099] * COUNT
    assert not any(r["nested"] for r in good)
    assert {(r["request"], r["function"]) for r in trace.of("gpu")} == {("r", "holder")}
    nested = trace.of("gpu", call="cuMemAlloc_v2")
    assert [r["nested"] for r in nested] == [True] * (COUNT + 1)
    assert [r["address"] for r in good] == [r["address"] for r in nested[:COUNT]]
    assert trace.of("gpu", call="cudaMalloc", result=2)[0]["bytes"] == 13
    assert trace.of("gpu", call="cuMemAllocPitch_v2")[0]["bytes"] == 512 * 7
    assert trace.of("gpu", kind="create")[0]["address"] == made.value
    assert len(trace.of("gpu", kind="free", api="runtime")) == COUNT


def test_nvidias_own_runtime_without_a_gpu_fails_with_its_code(points: Any) -> None:
    library = next(
        Path(folder, "nvidia/cu13/lib/libcudart.so.13")
        for folder in sys.path
        if Path(folder, "nvidia/cu13/lib/libcudart.so.13").exists()
    )
    runtime = ctypes.CDLL(str(library))
    made = ctypes.c_void_p()
    with traced("python", "gpu") as trace:
        codes = {
            runtime.cudaMalloc(ctypes.byref(made), ctypes.c_size_t(4099)) for _ in range(COUNT)
        }
    failed = trace.of("gpu", call="cudaMalloc")
    assert [record["bytes"] for record in failed] == [4099] * COUNT
    assert {record["result"] for record in failed} == codes
    assert 0 not in codes


def test_a_process_in_namespaces_of_its_own_is_traced_through_its_root(tmp_path: Path) -> None:
    # The library's copy is on a file system that only the target sees.
    inner = tmp_path / "inner"
    inner.mkdir()
    shutil.copy(MODULE, tmp_path / "_native.so")
    program = tmp_path / "target.py"
    program.write_text(
        "import ctypes, os, sys\n"
        f"points = ctypes.CDLL('{inner}/_native.so')\n"
        "print(os.getpid(), flush=True)\n"
        "sys.stdin.readline()\n"
        f"[points.switchyard_token(b'r', i, 0, 0) for i in range({COUNT})]\n"
        "print('done', flush=True)\n"
        "sys.stdin.readline()\n"
    )
    script = (
        f"mount -t tmpfs none {inner} && cp {tmp_path}/_native.so {inner}/"
        f" && exec {sys.executable} {program}"
    )
    target = subprocess.Popen(
        ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert target.stdin
    assert target.stdout
    try:
        assert target.stdout.readline() == "1\n"
        assert not (inner / "_native.so").exists()
        inside = int(Path(f"/proc/{target.pid}/task/{target.pid}/children").read_text())
        with traced("python", pids=(inside,)) as trace:
            target.stdin.write("go\n")
            target.stdin.flush()
            assert target.stdout.readline() == "done\n"
    finally:
        target.kill()
        target.wait()
    assert len(trace.of("token")) == COUNT
    assert {record["pid"] for record in trace.of("token")} == {inside}
