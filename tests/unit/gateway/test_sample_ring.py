"""The ring of samples: pages in order, old ones gone, nobody named."""

from typing import Any

from apps.gateway import samples as module
from apps.gateway.samples import Samples


def add(ring: Samples, count: int) -> None:
    fields: dict[str, Any] = {
        "t": 1.0,
        "client": "c",
        "synthetic": False,
        "intent": "other",
        "status": "ok",
        "http": 200,
        "first_ms": 1.0,
        "total_ms": 2.0,
    }
    for _ in range(count):
        ring.add(**fields)


def seqs(page: dict[str, Any]) -> list[int]:
    return [sample["seq"] for sample in page["samples"]]


def test_pages_follow_each_other_without_gap_or_repeat() -> None:
    ring = Samples(b"k" * 32)
    add(ring, 5)
    first = ring.page(0, 3)
    assert (seqs(first), first["next"]) == ([1, 2, 3], 3)
    second = ring.page(first["next"], 3)
    assert (seqs(second), second["next"]) == ([4, 5], 5)
    third = ring.page(second["next"], 3)
    assert (seqs(third), third["next"]) == ([], 5)
    add(ring, 1)
    assert seqs(ring.page(third["next"], 3)) == [6]


def test_what_has_left_the_ring_is_skipped(monkeypatch: Any) -> None:
    monkeypatch.setattr(module, "KEPT", 4)
    ring = Samples(b"k" * 32)
    ring._ring = type(ring._ring)(maxlen=4)
    add(ring, 10)
    assert seqs(ring.page(0, 2)) == [7, 8]
    assert seqs(ring.page(8, 9)) == [9, 10]


def test_a_place_beyond_the_end_is_brought_back() -> None:
    ring = Samples(b"k" * 32)
    add(ring, 2)
    page = ring.page(99, 5)
    assert (seqs(page), page["next"]) == ([], 2)


def test_a_client_is_recognised_within_a_key_and_not_across() -> None:
    one, other = Samples(b"k" * 32), Samples(b"q" * 32)
    assert one.client("c-1001") == one.client("c-1001") != one.client("c-1002")
    assert one.client("c-1001") != other.client("c-1001")
    assert one.boot != other.boot
