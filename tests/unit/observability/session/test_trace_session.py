"""A recording sorted by request."""

import pytest

from observability.bpf.errors import TraceError
from observability.session.session import Loss, Session
from tests.unit.observability.trace_records import HEADER, gpu, incident, loss, python


def session(*records: dict[str, object]) -> Session:
    return Session(
        record if "layer" in record else record | {"layer": "ring"} for record in records
    )


def test_a_request_joins_its_functions_memory_tokens_and_ring_line() -> None:
    request = session(*incident()).request("r1")
    assert request.intent == "complaint"
    assert [node.function for node in request.tree.values()] == ["chat"]
    assert request.tree["chat"].calls == 1
    assert request.tree["chat"].children["load"].gpu_bytes == 4096
    assert request.memory.by_holder() == [("f", 4096)]
    assert request.tokens("generated") == 2
    assert request.discards() == {"client left": 1}
    assert (request.start_ns, request.end_ns) == (100, 240)


def test_losses_of_a_recording_are_its_last_and_of_two_recordings_their_sum() -> None:
    whole = session(loss(5, 3, 2), loss(9, 6, 3), loss(2, 1, 1), loss(4, 4, 0))
    assert whole.loss(bad=1) == Loss(sent=13, read=10, lost=3, bad=1)
    assert str(whole.loss(bad=1)) == "3 lost, 10 read of 13 events, 1 damaged lines"


def test_times_of_an_earlier_boot_are_not_mixed_with_later_ones() -> None:
    late = HEADER | {"boot": "other"}
    whole = session(HEADER, python(1, "entry", "a"), late, python(1, "entry", "a", request="r2"))
    assert list(whole.requests) == ["r2"]


def test_a_request_is_found_by_how_it_begins_unless_two_do() -> None:
    whole = session(python(1, "entry", "a", request="aa1"), python(1, "entry", "a", request="ab2"))
    assert whole.request("ab").id == "ab2"
    with pytest.raises(TraceError, match="2 requests begin with 'a'"):
        whole.request("a")
    with pytest.raises(TraceError, match="no request is named 'x'"):
        whole.request("x")


def test_events_of_no_request_count_for_the_memory_of_all() -> None:
    whole = session(gpu(1, "alloc", "cudaMalloc", 64, 9, request=""))
    assert whole.requests == {}
    assert whole.memory.bytes == 64


def test_a_record_that_lacks_something_is_named() -> None:
    with pytest.raises(TraceError, match=r"lacks what its layer has: \{'layer': 'loss'"):
        session({"layer": "loss"})
