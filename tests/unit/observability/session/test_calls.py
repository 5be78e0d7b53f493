"""Spans nest strictly, whatever order or ends their events have."""

import random

from observability.session.calls import Span, spans
from tests.unit.observability.trace_records import gpu, python, token, wait


def shape(all_spans: list[Span]) -> list[tuple[str, int, int, str]]:
    return [(span.function, span.start_ns, span.end_ns, span.how) for span in all_spans]


def assert_nested(all_spans: list[Span]) -> None:
    for span in all_spans:
        assert span.start_ns <= span.end_ns
        for child in span.children:
            assert span.start_ns <= child.start_ns <= child.end_ns <= span.end_ns
        for one, next_one in zip(span.children, span.children[1:], strict=False):
            assert one.end_ns <= next_one.start_ns


def test_a_call_within_a_call_is_its_child() -> None:
    found = spans(
        [
            python(1, "entry", "a"),
            python(2, "entry", "b"),
            python(5, "return", "b"),
            python(9, "return", "a"),
        ]
    )
    assert shape(found) == [("a", 1, 9, "return"), ("b", 2, 5, "return")]
    assert found[0].own_ns() == 5
    assert found[1].path() == ("a", "b")


def test_recursion_closes_the_innermost_first() -> None:
    found = spans(
        [
            python(1, "entry", "a"),
            python(2, "entry", "a"),
            python(3, "return", "a"),
            python(4, "return", "a"),
        ]
    )
    assert shape(found) == [("a", 1, 4, "return"), ("a", 2, 3, "return")]


def test_a_coroutine_has_a_gap_while_it_waits() -> None:
    found = spans(
        [
            python(1, "entry", "a", frame=5),
            python(3, "yield", "a", frame=5),
            python(8, "resume", "a", frame=5),
            python(9, "return", "a", frame=5),
        ]
    )
    assert shape(found) == [("a", 1, 3, "yield"), ("a", 8, 9, "return")]
    assert [span.first for span in found] == [True, False]


def test_two_tasks_of_one_thread_do_not_become_each_others_children() -> None:
    found = spans(
        [
            python(1, "entry", "a", frame=5),
            python(2, "yield", "a", frame=5),
            python(3, "entry", "b", frame=6),
            python(4, "yield", "b", frame=6),
            python(5, "resume", "a", frame=5),
            python(6, "return", "a", frame=5),
            python(7, "resume", "b", frame=6),
            python(8, "return", "b", frame=6),
        ]
    )
    assert all(span.parent is None for span in found)


def test_a_coroutine_that_moves_to_another_thread_goes_on_there() -> None:
    found = spans(
        [
            python(1, "entry", "a", frame=5),
            python(3, "yield", "a", frame=5),
            python(8, "resume", "a", frame=5, tid=2),
            python(9, "return", "a", frame=5, tid=2),
        ]
    )
    assert [span.thread for span in found] == [(1, 1), (1, 2)]


def test_a_missing_end_is_lost_and_ends_with_what_it_lay_in() -> None:
    found = spans(
        [
            python(1, "entry", "a"),
            python(2, "entry", "dropped", frame=9),
            python(7, "return", "a"),
        ]
    )
    assert shape(found) == [("a", 1, 7, "return"), ("dropped", 2, 7, "lost")]


def test_an_end_without_a_beginning_changes_nothing() -> None:
    found = spans([python(1, "entry", "a"), python(2, "return", "b"), python(3, "return", "a")])
    assert shape(found) == [("a", 1, 3, "return")]


def test_what_is_open_at_the_end_ends_where_its_thread_was_last_seen() -> None:
    found = spans([python(1, "entry", "a"), python(6, "entry", "b")])
    assert shape(found) == [("a", 1, 6, "lost"), ("b", 6, 6, "lost")]


def test_events_out_of_order_are_put_in_order() -> None:
    events = [python(i, "entry" if i < 20 else "return", f"f{min(i, 39 - i)}") for i in range(40)]
    shuffled = events.copy()
    random.Random(7).shuffle(shuffled)
    assert shape(spans(shuffled)) == shape(spans(events))


def test_any_mixture_of_events_nests() -> None:
    random_numbers = random.Random(11)
    for _ in range(300):
        events = [
            python(
                t,
                random_numbers.choice(["entry", "return", "yield", "resume", "unwind"]),
                random_numbers.choice("abc"),
                frame=random_numbers.choice([0, 0, 1, 2]),
                tid=random_numbers.choice([1, 2]),
            )
            for t in range(60)
        ]
        assert_nested(spans(events))


def test_waits_gpu_calls_and_tokens_belong_to_the_innermost_function_of_their_thread() -> None:
    found = spans(
        [
            python(1, "entry", "a"),
            python(2, "entry", "b"),
            wait(3, "off_cpu", 40),
            wait(3, "gil", 7),
            wait(3, "off_cpu", 1000, tid=2),
            gpu(4, "alloc", "cudaMalloc", 4096, 1),
            gpu(4, "alloc", "cuMemAlloc_v2", 4096, 1, nested=True),
            gpu(5, "alloc", "cudaMalloc", 8192, 0, result=2),
            gpu(5, "copy", "cudaMemcpy", 100, 1),
            token(6, "generated", 0),
            token(6, "discarded", 0, "deadline"),
            python(50, "return", "b"),
            python(60, "return", "a"),
        ]
    )
    a, b = found
    assert (a.off_cpu_ns, a.gpu_bytes, a.generated) == (0, 0, 0)
    assert (b.off_cpu_ns, b.gil_ns, b.gpu_bytes, b.copied_bytes) == (40, 7, 4096, 100)
    assert (b.generated, b.discarded, b.gpu_ns) == (1, 1, 30)
