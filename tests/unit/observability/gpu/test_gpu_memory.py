"""Outstanding GPU memory: nothing twice, nothing that failed."""

from observability.gpu.memory import Memory, growth, memory
from tests.unit.observability.trace_records import gpu


def test_what_is_not_freed_is_held_by_its_function_and_request() -> None:
    state = memory(
        [
            gpu(1, "alloc", "cudaMalloc", 100, 1, function="f"),
            gpu(2, "alloc", "cudaMalloc", 50, 2, function="g", request="r2"),
            gpu(3, "free", "cudaFree", 0, 1),
        ]
    )
    assert state.by_holder() == [("g", 50)]
    assert state.by_request() == [("r2", 50)]
    assert (state.bytes, state.peak) == (50, 150)


def test_the_drivers_call_within_the_runtimes_is_the_same_memory() -> None:
    state = memory(
        [
            gpu(1, "alloc", "cudaMalloc", 100, 1),
            gpu(2, "alloc", "cuMemAlloc_v2", 100, 1, nested=True),
        ]
    )
    assert state.bytes == 100


def test_a_failed_call_neither_gives_nor_takes() -> None:
    state = memory(
        [
            gpu(1, "alloc", "cudaMalloc", 100, 1),
            gpu(2, "alloc", "cudaMalloc", 999, 0, result=2),
            gpu(3, "free", "cudaFree", 0, 1, result=1),
        ]
    )
    assert state.bytes == 100
    assert state.failed == {("cudaMalloc", 2): 1, ("cudaFree", 1): 1}


def test_physical_memory_counts_from_create_to_release_and_a_map_adds_none() -> None:
    state = memory(
        [
            gpu(1, "create", "cuMemCreate", 2048, 7),
            gpu(2, "map", "cuMemMap", 2048, 0x7000),
            gpu(3, "free", "cuMemFree_v2", 0, 7),
        ]
    )
    assert state.bytes == 2048
    assert state.unknown_frees == 1
    state.add(gpu(4, "release", "cuMemRelease", 0, 7))
    assert state.bytes == 0


def test_memory_of_a_process_goes_with_it() -> None:
    state = memory(
        [
            gpu(1, "alloc", "cudaMalloc", 100, 1),
            gpu(1, "alloc", "cudaMalloc", 30, 1, pid=2),
            {"layer": "process", "kind": "gone", "pid": 1, "t_ns": 2},
        ]
    )
    assert state.bytes == 30


def test_an_address_given_twice_is_held_once() -> None:
    state = memory([gpu(1, "alloc", "cudaMalloc", 100, 1), gpu(2, "alloc", "cudaMalloc", 40, 1)])
    assert state.bytes == 40


def test_freeing_nothing_is_no_unknown_free() -> None:
    state = memory([gpu(1, "free", "cudaFree", 0, 0), gpu(2, "free", "cudaFree", 0, 5)])
    assert state.unknown_frees == 1


def test_what_is_remembered_is_bounded_and_what_is_not_is_counted() -> None:
    state = Memory(most=10)
    for number in range(1, 24):
        state.add(gpu(number, "alloc", "cudaMalloc", 1, number))
        state.add(gpu(number, "alloc", "cudaMalloc", 1, 0, result=number))
    assert (len(state.held()), state.bytes, state.forgotten) == (10, 10, 13)
    for number in range(5_000):
        state.add(gpu(number, "alloc", "cudaMalloc", 1, 0, result=100 + number))
    assert len(state.failed) <= 1_001
    assert sum(state.failed.values()) == 23 + 5_000


def test_growth_compares_the_end_with_halfway() -> None:
    records = [
        gpu(0, "alloc", "cudaMalloc", 5, 1, function="steady"),
        gpu(40, "alloc", "cudaMalloc", 10, 2, function="grows"),
        gpu(60, "alloc", "cudaMalloc", 10, 3, function="grows"),
        gpu(70, "free", "cudaFree", 0, 9),
        gpu(100, "alloc", "cudaMalloc", 1, 4, function="late"),
    ]
    assert growth(records) == [("grows", 10, 20), ("steady", 5, 5), ("late", 0, 1)]
    assert growth([]) == []
