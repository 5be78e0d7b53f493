"""Reading a pod's samples: pages, windows, and replies that are none."""

import json

import pytest

from rollout.samples import Sample, SamplesUnreadable, fetch, window

ITEM = {
    "seq": 4,
    "t": 100.5,
    "client": "ab12",
    "synthetic": False,
    "intent": "other",
    "status": "ok",
    "http": 200,
    "first_ms": 12.5,
    "total_ms": 20,
}


def test_a_page_is_read_with_its_boot_and_next() -> None:
    asked: list[str] = []

    def get(url: str) -> bytes:
        asked.append(url)
        return json.dumps({"boot": "b1", "next": 4, "samples": [ITEM]}).encode()

    boot, after, samples = fetch("http://10.0.0.9:8081/", 3, limit=10, get=get)
    assert asked == ["http://10.0.0.9:8081/samples?after=3&limit=10"]
    assert (boot, after) == ("b1", 4)
    assert samples == [Sample(4, 100.5, "ab12", False, "other", "ok", 200, 12.5, 20.0)]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{}",
        b'{"boot": 1, "next": "x", "samples": []}',
        b"[" * 100_000,
        json.dumps({"boot": "b", "next": 1, "samples": [{**ITEM, "t": None}]}).encode(),
        json.dumps({"boot": "b", "next": 1, "samples": [3]}).encode(),
        json.dumps({"boot": "b", "next": float("inf"), "samples": []}).encode(),
        *(
            json.dumps({"boot": "b", "next": 1, "samples": [{**ITEM, name: wrong}]}).encode()
            for name in ("seq", "t", "http", "first_ms", "total_ms")
            for wrong in (float("nan"), float("inf"))
        ),
        *(
            json.dumps({"boot": "b", "next": 1, "samples": [{**ITEM, name: 10**400}]}).encode()
            for name in ("t", "first_ms", "total_ms")
        ),
    ],
)
def test_what_is_no_page_is_one_clear_error(body: bytes) -> None:
    with pytest.raises(SamplesUnreadable) as error:
        fetch("http://pod", 0, get=lambda url: body)
    assert "not a page of samples" in str(error.value)


def test_a_window_is_half_open_and_leaves_synthetic_customers_out() -> None:
    def sample(t: float, synthetic: bool = False) -> Sample:
        return Sample(1, t, "c", synthetic, "other", "ok", 200, 1, 2)

    kept = window([sample(9.9), sample(10), sample(11, True), sample(19.9), sample(20)], 10, 20)
    assert [s.t for s in kept] == [10, 19.9]
