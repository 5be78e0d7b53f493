"""Real programs in the real kernel: known workloads, prime counts, every event accounted for."""

import ctypes
import json
import os
import resource
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from observability import native
from observability.agent.recorder import Recorder
from observability.bpf.kernel import Ways, ways
from observability.bpf.source import Program
from observability.demo.stand_in import compile_into
from observability.gpu.watch import is_refusal
from observability.native import MODULE

COUNT = 23
MANY = 20_011
Record = dict[str, Any]
# As on kernels of these ages.
KERNELS = pytest.mark.parametrize(
    "how", [ways(), ways(kernel=(5, 8)), ways(kernel=(5, 4))], ids=["new", "5.8", "5.4"]
)
SWITCHES = pytest.mark.parametrize(
    "how", [ways(), ways(kernel=(5, 4)), ways("perf-switches")], ids=["new", "5.4", "perf"]
)


class Trace:
    """What a recorder wrote, and its losses once it is over."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.loss: Record = {}

    def of(self, layer: str, **fields: object) -> list[Record]:
        return [r for r in self.records if r["layer"] == layer and fields.items() <= r.items()]


@contextmanager
def traced(
    *programs: Program, pids: tuple[int, ...] = (), how: Ways | None = None, **options: Any
) -> Iterator[Trace]:
    trace = Trace()
    recorder = Recorder(programs, trace.records.extend, ways=how, **options)
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


@KERNELS
def test_each_point_is_counted_exactly(points: Any, how: Ways) -> None:
    with traced("python", how=how) as trace:
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
    assert trace.loss["buffer"] == how.buffer
    assert [r["token"] for r in trace.of("token")] == list(range(COUNT))
    assert trace.of("python", kind="chain")[0]["holders"] == "A.x <- module m"


@KERNELS
def test_under_overload_lost_and_read_are_what_was_sent(points: Any, how: Ways) -> None:
    with traced("python", how=how, pages=16) as trace:
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


def test_a_recorder_that_was_killed_leaves_nothing_behind(tmp_path: Path) -> None:
    module, out = native.load(), tmp_path / "recording"
    child = subprocess.Popen(
        [sys.executable, "-m", "observability", "record", "--pid", str(os.getpid()),
         "--out", str(out), "--no-gpu", "--no-waits"],
    )  # fmt: skip
    try:
        # Killed while it attaches, the kernel may leave a probe where it is.
        _until(lambda: out.exists() and '"kind":"attached"' in out.read_text())
        assert module.attached() == 15
    finally:
        child.kill()
        child.wait()
    # The kernel takes probes out when the last descriptor goes, which is before wait returns
    # or a moment later.
    _until(lambda: module.attached() == 0)


def _until(done: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not done():
        assert time.monotonic() < end
        time.sleep(0.01)


@SWITCHES
def test_events_of_many_short_threads_are_all_there(points: Any, how: Ways) -> None:
    threads = 10_007
    with traced("python", "waits", how=how, pages=16384) as trace:

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


@SWITCHES
def test_each_time_off_the_cpu_is_counted_and_belongs_to_the_function_that_slept(
    points: Any, how: Ways
) -> None:
    counted = []
    with traced("python", "waits", how=how) as trace:
        before = threading.Event()
        for _ in range(COUNT):
            outer = switches()
            enter(points, b"sleeps")
            inner = switches()
            before.wait(0.02)
            inner = switches() - inner
            leave(points, b"sleeps")
            counted.append((inner, switches() - outer))
            before.wait(0.002)
    waits = trace.of("wait", kind="off_cpu")
    assert {(record["function"], record["request"]) for record in waits} == {("sleeps", "r")}
    assert max(record["ns"] for record in waits) >= 15_000_000
    told = {record["runnable"] for record in waits}
    assert told == {None} if not how.tracepoints else False in told and None not in told
    # Perf buffers are one a CPU: what comes out of them is not in order.
    entries = sorted(record["t_ns"] for record in trace.of("python", kind="entry"))
    returns = sorted(record["t_ns"] for record in trace.of("python", kind="return"))
    for start, end, (least, most) in zip(entries, returns, counted, strict=True):
        own = [record for record in waits if start <= record["t_ns"] <= end]
        assert least <= len(own) <= most
        assert all(record["t_ns"] + record["ns"] <= end for record in own)


def switches() -> int:
    """How often this thread left the CPU, as the kernel counts."""
    usage = resource.getrusage(resource.RUSAGE_THREAD)
    return usage.ru_nvcsw + usage.ru_nivcsw


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


@KERNELS
def test_gpu_calls_have_size_result_and_layer(points: Any, gpu: Path, how: Ways) -> None:
    runtime = ctypes.CDLL(str(gpu / "libcudart.so.13"))
    driver = ctypes.CDLL(str(gpu / "libcuda.so.1"))
    made = ctypes.c_uint64()
    pitch = ctypes.c_size_t()
    with traced("python", "gpu", how=how) as trace:
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
    assert [record["bytes"] for record in trace.records if is_refusal(record)] == [13]
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


TARGET = """
import ctypes, os, sys
points = ctypes.CDLL(sys.argv[1])
print(os.getpid(), flush=True)
sys.stdin.readline()
for number in range(int(sys.argv[2])):
    points.switchyard_token(b"r", number, 0, 0)
print("done", flush=True)
sys.stdin.readline()
"""


class Target:
    """A process that fires a point `count` times when it is told to."""

    def __init__(self, library: Path, count: int = COUNT, *around: str) -> None:
        command = [*around, sys.executable, "-c", TARGET, str(library), str(count)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.says_it_is = int(self.line())

    def line(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline().strip()

    def fire(self) -> None:
        assert self.process.stdin
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        assert self.line() == "done"

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def start() -> Iterator[Callable[..., Target]]:
    targets: list[Target] = []

    def started(*arguments: Any) -> Target:
        targets.append(Target(*arguments))
        return targets[-1]

    yield started
    for target in targets:
        target.end()


def only_child(pid: int) -> int:
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text())


@KERNELS
def test_a_process_in_namespaces_of_its_own_is_traced_through_its_root(
    tmp_path: Path, start: Callable[..., Target], how: Ways
) -> None:
    # The library's copy is on a file system that only the target sees.
    shutil.copy(MODULE, tmp_path / "_native.so")
    inner = tmp_path / "inner"
    inner.mkdir()
    mount = f'mount -t tmpfs none {inner} && cp {tmp_path}/_native.so {inner}/ && exec "$@"'
    target = start(
        inner / "_native.so", COUNT, "unshare", "--mount", "--pid", "--fork", "--kill-child",
        "sh", "-c", mount, "sh",
    )  # fmt: skip
    assert target.says_it_is == 1
    assert not (inner / "_native.so").exists()
    inside = only_child(target.process.pid)
    with traced("python", pids=(inside,), how=how) as trace:
        target.fire()
    assert len(trace.of("token")) == COUNT
    assert {record["pid"] for record in trace.of("token")} == {inside}


def test_two_containers_of_one_image_count_once_each(
    tmp_path: Path, start: Callable[..., Target]
) -> None:
    # Overlays of one folder: two names and two devices, but one file underneath.
    for folder in ("image", "upper", "work", "root"):
        (tmp_path / folder).mkdir()
    shutil.copy(MODULE, tmp_path / "image/_native.so")
    mount = (
        f"mount -t tmpfs none {tmp_path}/upper && mkdir {tmp_path}/upper/a {tmp_path}/upper/b"
        f" && mount -t overlay none {tmp_path}/root -o lowerdir={tmp_path}/image,"
        f'upperdir={tmp_path}/upper/a,workdir={tmp_path}/upper/b && exec "$@"'
    )
    around = ("unshare", "--mount", "sh", "-c", mount, "sh")
    library = tmp_path / "root/_native.so"
    counts = (COUNT, 29)
    one, two = (start(library, count, *around) for count in counts)
    with traced("python", pids=(one.process.pid, two.process.pid)) as trace:
        one.fire()
        two.fire()
    found = Counter(record["pid"] for record in trace.of("token"))
    assert found == {one.process.pid: COUNT, two.process.pid: 29}
    assert trace.loss["sent"] == sum(counts)


@KERNELS
def test_who_is_not_followed_is_not_told_of(
    tmp_path: Path, start: Callable[..., Target], how: Ways
) -> None:
    library = tmp_path / "_native.so"
    shutil.copy(MODULE, library)
    one, two, three = (start(library) for _ in range(3))
    trace = Trace()
    recorder = Recorder(["python"], trace.records.extend, ways=how)
    try:
        recorder.follow([one.process.pid, two.process.pid])
        two.fire()
        recorder.follow([one.process.pid])
        three.fire()
    finally:
        loss = recorder.close()
    assert Counter(record["pid"] for record in trace.of("token")) == {two.process.pid: COUNT}
    assert loss["sent"] == COUNT
    assert [record["pid"] for record in trace.of("process", kind="gone")] == [two.process.pid]


def test_a_number_that_is_given_again_is_another_process(
    tmp_path: Path, start: Callable[..., Target]
) -> None:
    library = tmp_path / "_native.so"
    shutil.copy(MODULE, library)
    # The file keeps its probes for this one.
    other, first = start(library), start(library)
    number = first.process.pid
    trace = Trace()
    recorder = Recorder(["python"], trace.records.extend)
    try:
        recorder.follow([other.process.pid, number])
        first.fire()
        first.end()
        if not ways().group_dead:
            recorder.follow([other.process.pid])
        again = start_as(number, start, library)
        again.fire()
    finally:
        recorder.close()
    assert len(trace.of("token")) == COUNT


def start_as(number: int, start: Callable[..., Target], library: Path) -> Target:
    """A process of this number."""
    while True:
        Path("/proc/sys/kernel/ns_last_pid").write_text(str(number - 1))
        target = start(library)
        if target.process.pid == number:
            return target
        target.end()  # somebody else's came between


@KERNELS
def test_a_process_that_is_killed_while_it_fires_costs_no_count(
    start: Callable[..., Target], how: Ways
) -> None:
    target = start(MODULE, 10**9)
    trace = Trace()
    recorder = Recorder(["python"], trace.records.extend, ways=how)
    try:
        recorder.follow([target.process.pid])
        assert target.process.stdin
        target.process.stdin.write("go\n")
        target.process.stdin.flush()
        while len(trace.of("token")) < MANY:
            recorder.step()
        target.end()
        recorder.follow([target.process.pid])
    finally:
        loss = recorder.close()
    assert loss["read"] + loss["lost"] == loss["sent"] >= MANY
    assert len(trace.of("token")) == loss["read"]
    assert [record["pid"] for record in trace.of("process", kind="gone")] == [target.process.pid]


def test_a_child_is_traced_from_its_first_event(points: Any) -> None:
    with traced("python", "waits") as trace:
        children = []
        for _ in range(3):
            child = os.fork()
            if not child:
                for number in range(COUNT):
                    points.switchyard_token(b"r", number, 0, 0)
                thread = threading.Thread(target=enter, args=(points, b"f"))
                thread.start()
                thread.join()
                os._exit(0)
            children.append(child)
            os.waitpid(child, 0)
    assert Counter(record["pid"] for record in trace.of("token")) == dict.fromkeys(children, COUNT)
    assert [record["pid"] for record in trace.of("python", kind="entry")] == children
    assert trace.loss["lost"] == 0


REPLACED = """
import ctypes, os, sys
points, driver = ctypes.CDLL(sys.argv[1]), ctypes.CDLL(sys.argv[3])
if len(sys.argv) == 4:
    print(os.getpid(), flush=True)
    sys.stdin.readline()
    points.switchyard_function_entry(b"r", b"before", ctypes.c_uint64(0))
address = ctypes.c_uint64()
driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(len(sys.argv)))
if len(sys.argv) == 4:
    os.execv(sys.executable, [sys.executable, "-c", sys.argv[2], *sys.argv[1:], "again"])
"""


def test_functions_end_with_the_program_that_ran_them(gpu: Path) -> None:
    program = subprocess.Popen(
        [sys.executable, "-c", REPLACED, str(MODULE), REPLACED, str(gpu / "libcuda.so.1")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert program.stdout
    program.stdout.readline()
    with traced("python", "gpu", pids=(program.pid,)) as trace:
        program.communicate("go\n")
    holders = [(record["bytes"], record["function"]) for record in trace.of("gpu")]
    assert holders == [(4, "before"), (5, "")]


def test_more_processes_need_no_more_probes(
    tmp_path: Path, start: Callable[..., Target], gpu: Path
) -> None:
    # The kernel takes a fraction of a second for each that it takes out.
    library = tmp_path / "_native.so"
    shutil.copy(MODULE, library)
    preload = ("env", f"LD_PRELOAD={gpu}/libcudart.so.13")
    pids = [start(library, COUNT, *preload).process.pid for _ in range(4)]
    before = descriptors()
    with traced("python", "gpu", "waits", pids=(pids[0],)) as trace:
        for_one = descriptors() - before
    with traced("python", "gpu", "waits", pids=tuple(pids)) as trace:
        for_all = descriptors() - before
    assert for_all == for_one
    attached = trace.of("process", kind="attached")
    probes = [sum(record["points"].values()) for record in attached]
    assert for_one["anon_inode:bpf_link"] < 20 < sum(probes)


def descriptors() -> Counter[str]:
    """What this process has open, by kind, but for programs and maps."""
    found: Counter[str] = Counter()
    for fd in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):  # the listing's own
            found[os.readlink(f"/proc/self/fd/{fd}").split(":[")[0]] += 1
    return Counter({k: n for k, n in found.items() if "link" in k or "perf_event" in k})


def test_it_counts_in_a_namespace_of_its_own_too() -> None:
    # Here the kernel's numbers of processes are others than ours.
    around = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
    said = subprocess.run(
        [*around, sys.executable, "-m", "observability", "check", "--output", "json"],
        capture_output=True, text=True,
    )  # fmt: skip
    checks = {check["name"]: check for check in json.loads(said.stdout)}
    assert not checks["process numbers"]["ok"]
    for name in ("probe points", "perf buffers", "waits", "waits by perf"):
        assert checks[name]["ok"], checks[name]
