"""What the diagnostic page is given."""

import json
import re
from typing import Any

from observability.session.session import Loss, Request, Session
from observability.view.cells import BINS, axis, cells
from observability.view.data import data
from observability.view.findings import Finding, findings
from observability.view.findings import uses as all_uses
from observability.view.page import page
from observability.view.resources import RESOURCES
from tests.unit.observability.trace_records import HEADER, gpu, incident, python, token, wait

NUMBER = {resource.key: number for number, resource in enumerate(RESOURCES)}


def session(*records: dict[str, Any]) -> Session:
    return Session(r if "layer" in r else r | {"layer": "ring"} for r in records)


def request(id: str, intent: str, *records: dict[str, Any]) -> Request:
    return Request(id, [record | {"request": id} for record in records], {"intent": intent})


def uses(found: Any, resource: str) -> dict[tuple[int, int], int]:
    return {(b, s): use for (b, r, s), use in found.items() if r == NUMBER[resource] and use}


def standing_out(*requests: Request) -> list[Finding]:
    return findings(requests, {request.id: all_uses(request) for request in requests})


def test_a_long_function_is_shared_among_the_stretches_it_lasts() -> None:
    one = request("r", "x", python(0, "entry", "f"), python(BINS * 100, "return", "f"))
    time = axis([one])
    assert time.width_ns == 100
    found = cells([one], ["x"], time)
    assert sum(uses(found, "cpu").values()) == BINS * 100
    assert set(uses(found, "cpu").values()) == {100}


def test_waiting_is_no_cpu_time() -> None:
    one = request(
        "r", "x", python(0, "entry", "f"), wait(10, "off_cpu", 700), python(1000, "return", "f")
    )
    found = cells([one], ["x"], axis([one]))
    assert sum(uses(found, "cpu").values()) == 300
    assert sum(uses(found, "off_cpu").values()) == 700


def test_held_memory_stays_in_the_picture_until_it_is_freed() -> None:
    held = request("a", "x", python(0, "entry", "f"), gpu(0, "alloc", "cudaMalloc", 50, 1),
                   python(480, "return", "f"))  # fmt: skip
    freed = request(
        "b", "y", gpu(0, "alloc", "cudaMalloc", 70, 2), gpu(105, "free", "cudaFree", 0, 2)
    )
    time = axis([held, freed])
    found = uses(cells([held, freed], ["x", "y"], time), "held")
    assert {key: use for key, use in found.items() if key[1] == 0} == {
        (number, 0): 50 for number in range(BINS)
    }
    assert max(number for number, scenario in found if scenario == 1) == time.bin(105) - 1


def test_what_stands_out_is_named_with_the_function_that_did_it() -> None:
    def plain(id: str) -> Request:
        return request(id, "plain", python(0, "entry", "f"), python(9, "return", "f"))

    wasteful = request(
        "w", "wasteful", python(0, "entry", "g"), token(1, "discarded", 0, "client left"),
        python(9, "return", "g"),
    )  # fmt: skip
    (found,) = standing_out(plain("a"), plain("b"), wasteful)
    assert (found.resource, found.scenario, found.each, found.others, found.function) == (
        "discarded", "wasteful", 1.0, 0.0, "g",
    )  # fmt: skip
    assert standing_out(plain("a"), plain("b")) == []


def test_spans_name_their_parent_by_its_place() -> None:
    given = data(session(*incident()), Loss(13, 12, 1))
    (row,) = given["requests"]
    assert row["line"] == {
        "request_id": "r1", "intent": "complaint", "lane": "blue", "release": "7",
    }  # fmt: skip
    assert [(given["functions"][span[0]], span[1]) for span in row["spans"]] == [
        ("chat", -1),
        ("load", 0),
        ("chat", -1),
    ]
    assert row["holders"] == [("f", 4096)]
    assert given["complete"] is False


def test_a_large_recording_keeps_every_row_and_the_spans_of_the_heaviest() -> None:
    big = 100
    records: list[dict[str, Any]] = [HEADER]
    for number, name in enumerate(("light", "middle", "heavy", "heavier")):
        for i in range(big):
            at = i * 10
            records.append(python(at, "entry", "f", request=name, tid=number))
            records.append(python(at + 1 + number, "return", "f", request=name, tid=number))
    given = data(session(*records), Loss(0, 0, 0), most_spans=3 * big)
    assert [row["id"] for row in given["requests"] if "spans" not in row] == ["light"]
    assert len(given["requests"]) == 4


def test_a_request_that_left_only_a_line_is_in_the_list() -> None:
    given = data(session(*incident(), {"request_id": "r2", "intent": "other"}), Loss(0, 0, 0))
    assert {row["id"] for row in given["requests"]} == {"r1", "r2"}


def test_an_empty_recording_is_a_page_too() -> None:
    assert data(session(), Loss(0, 0, 0))["requests"] == []
    assert '"requests":[]' in page(session(), Loss(0, 0, 0))


def test_no_name_ends_the_element_that_holds_the_data() -> None:
    hostile = "</script><script>alert(1)</script>"
    html = page(
        session(python(0, "entry", hostile, request=hostile), python(5, "return", hostile,
                request=hostile)),
        Loss(0, 0, 0),
    )  # fmt: skip
    assert hostile not in html
    assert html.count("</script>") == 2
    body = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.S)
    assert body
    assert json.loads(body[1])["functions"] == [hostile]


def test_the_page_asks_no_network() -> None:
    html = page(session(*incident()), Loss(0, 0, 0))
    assert "default-src 'none'" in html
    assert not re.search(r'(src|href)="|https?://|@import|url\(', html)
