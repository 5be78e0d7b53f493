"""What other tools are given. Their own importers read it in the integration tests."""

import json
from typing import Any

import pytest

from observability.bpf.errors import TraceError
from observability.export.chrome import chrome
from observability.export.folded import folded
from observability.export.otlp import otlp
from observability.export.prometheus import prometheus
from observability.export.speedscope import speedscope
from observability.export.text import size, story, table
from observability.session.session import Loss, Request, Session
from tests.unit.observability.trace_records import gpu, incident, python

LOSS = Loss(sent=13, read=12, lost=1)


@pytest.fixture
def session() -> Session:
    return Session(r if "layer" in r else r | {"layer": "ring"} for r in incident())


@pytest.fixture
def requests(session: Session) -> list[Request]:
    return list(session.requests.values())


def test_speedscope_events_open_and_close_in_order_and_nest(requests: list[Request]) -> None:
    document = json.loads(speedscope(requests, str(LOSS)))
    names = [frame["name"] for frame in document["shared"]["frames"]]
    (profile,) = document["profiles"]
    assert [(e["type"], names[e["frame"]], e["at"]) for e in profile["events"]] == [
        ("O", "chat", 100),
        ("O", "load", 110),
        ("C", "load", 130),
        ("C", "chat", 140),
        ("O", "chat", 200),
        ("C", "chat", 240),
    ]
    assert (profile["startValue"], profile["endValue"]) == (100, 240)
    assert document["name"] == "1 lost, 12 read of 13 events"


def test_speedscope_takes_stacks_deeper_than_pythons_own() -> None:
    deep = 3_000
    records = [python(i, "entry", f"f{i}") for i in range(deep)]
    records += [python(2 * deep - i, "return", f"f{i}") for i in reversed(range(deep))]
    document = json.loads(speedscope([Request("r1", records)], ""))
    assert len(document["profiles"][0]["events"]) == 2 * deep
    assert story(Request("r1", records), LOSS).count("\n") > deep


def test_folded_stacks_weigh_what_was_asked(requests: list[Request]) -> None:
    assert folded(requests, "bytes") == "complaint;chat;load 4096\n"
    assert folded(requests, "discarded") == "complaint;chat 1\n"
    assert folded(requests, "copied") == ""
    with pytest.raises(TraceError, match="no weight is named 'x'; there are time, "):
        folded(requests, "x")


def test_folded_names_cannot_break_a_line() -> None:
    records = [
        python(0, "entry", "a;b\nc"),
        python(5_000, "return", "a;b\nc"),
    ]
    assert folded([Request("r1", records)], "time") == "no intent;a:b c 5\n"


def test_chrome_slices_of_one_track_never_overlap_without_nesting(requests: list[Request]) -> None:
    document = json.loads(chrome(requests, str(LOSS)))
    assert document["otherData"] == {"losses": str(LOSS)}
    slices: dict[Any, list[tuple[float, float]]] = {}
    for event in document["traceEvents"]:
        if event["ph"] == "X":
            end = event["ts"] + event["dur"]
            slices.setdefault((event["pid"], event["tid"]), []).append((event["ts"], end))
    assert len(slices) == 3
    for track in slices.values():
        for start, end in track:
            for other_start, other_end in track:
                apart = other_end <= start or end <= other_start
                within = (start <= other_start and other_end <= end) or (
                    other_start <= start and end <= other_end
                )
                assert apart or within


def test_otlp_spans_have_ids_parents_and_dates(session: Session, requests: list[Request]) -> None:
    (resource,) = json.loads(otlp(session, requests))["resourceSpans"]
    spans = resource["scopeSpans"][0]["spans"]
    root, *functions = spans
    assert [span["name"] for span in spans] == ["chat complaint", "chat", "load", "chat"]
    assert all(len(span["traceId"]) == 32 and len(span["spanId"]) == 16 for span in spans)
    assert len({span["spanId"] for span in spans}) == len(spans)
    assert functions[0]["parentSpanId"] == root["spanId"]
    assert functions[1]["parentSpanId"] == functions[0]["spanId"]
    # The header's offset makes dates of times.
    assert (root["startTimeUnixNano"], root["endTimeUnixNano"]) == ("1100", "1240")
    attributes = {a["key"]: a["value"] for a in root["attributes"]}
    assert attributes["gen_ai.usage.output_tokens"] == {"intValue": "2"}
    assert attributes["switchyard.tokens.discarded"] == {"intValue": "1"}
    assert attributes["switchyard.lane"] == {"stringValue": "blue"}
    assert attributes["switchyard.release"] == {"stringValue": "7"}


def test_otlp_tells_no_tokens_of_a_request_whose_tokens_nobody_told(session: Session) -> None:
    silent = Request("s", [python(1, "entry", "f"), python(2, "return", "f")])
    (resource,) = json.loads(otlp(session, [silent]))["resourceSpans"]
    root = resource["scopeSpans"][0]["spans"][0]
    assert not [a["key"] for a in root["attributes"] if "token" in a["key"]]


def test_prometheus_tells_tokens_per_scenario_and_what_was_lost(
    session: Session, requests: list[Request]
) -> None:
    text = prometheus(session, requests, LOSS)
    assert 'switchyard_trace_tokens_total{intent="complaint",event="discarded"} 1\n' in text
    assert 'switchyard_trace_gpu_held_bytes{function="f"} 4096\n' in text
    assert "switchyard_trace_events_lost_total 1\n" in text


def test_prometheus_labels_are_quoted() -> None:
    session = Session([gpu(1, "alloc", "cudaMalloc", 8, 1, function='a"b\\c\nd')])
    assert '{function="a\\"b\\\\c\\nd"} 8' in prometheus(session, [], LOSS)


def test_the_table_and_the_story_fit_80_columns_and_say_what_was_lost(
    requests: list[Request],
) -> None:
    for text in (table(requests, LOSS), story(requests[0], LOSS)):
        assert text.endswith("1 lost, 12 read of 13 events\n")
        assert all(len(line) <= 80 for line in text.splitlines()), text
    text = story(requests[0], LOSS)
    assert "2 generated, 0 handed over, 1 delivered, 1 discarded (client left 1)" in text
    assert "4.0K at most, 4.0K still held" in text


def test_a_long_table_says_how_much_it_leaves_out() -> None:
    requests = [Request(f"r{i}", [python(i, "entry", "a", request=f"r{i}")]) for i in range(50)]
    assert "and 10 more\n" in table(requests, LOSS)


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0"), (1023, "1023"), (1024, "1.0K"), (1 << 20, "1.0M"), (10**12, "931.3G"),
     (10**15, "909.5T")],
)  # fmt: skip
def test_sizes(count: int, text: str) -> None:
    assert size(count) == text
