"""The three business scenarios in both languages, through gateway, Triton and PostgreSQL."""

import json
from typing import Any

import psycopg
import pytest

from tests.integration.gateway.harness import Gateway

CASES = [
    ("c-1001", "zh", "我的医疗保险余额还有多少？", "insurance_balance", "12680.50"),
    ("c-1002", "en", "What is my medical insurance balance?", "insurance_balance", "3940.00"),
    ("c-1001", "zh", "请帮我解读一下最近的化验报告", "lab_report", "血糖"),
    ("c-1002", "en", "Please explain my latest lab report", "lab_report", "LDL"),
    ("c-1001", "zh", "我要投诉，你们的理赔太慢了", "complaint", "T-"),
    ("c-1002", "en", "I want to complain about your slow service", "complaint", "T-"),
]


@pytest.mark.parametrize(("customer", "language", "query", "intent", "said"), CASES)
def test_each_scenario_is_answered_as_json_and_as_a_stream(
    gateway: Gateway,
    postgres: Any,
    customer: str,
    language: str,
    query: str,
    intent: str,
    said: str,
) -> None:
    token = postgres.token(customer)
    whole = gateway.ask(token, query, session=f"s-{customer}-{intent}", message_id="m-json")
    events = list(
        gateway.stream(token, query, session=f"s-{customer}-{intent}", message_id="m-sse")
    )
    meta, done = events[0], events[-1]
    text = "".join(_data(event)["text"] for event in events if event.kind == "delta")
    assert [events[0].kind, events[1].kind, events[-1].kind] == ["meta", "delta", "done"]
    for fields in (whole, _data(meta) | _data(done) | {"reply": text}):
        assert fields["intent"] == intent
        assert fields["language"] == language
        assert fields["status"] == "ok"
        assert said in fields["reply"]
        assert fields["latency_ms"]["total"] >= fields["latency_ms"]["first"] > 0
        assert fields["lane"] == "local"
        assert (fields["ticket"] is not None) == (intent == "complaint")
    speaks = language == "en" and intent != "complaint"
    assert (len(events) > 4) == speaks
    assert any(item["what"] == "model_words" for item in whole["omitted"]) == (
        language == "zh" and intent != "complaint"
    )


def _data(event: Any) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads(event.data)
    return fields


def test_a_complaint_sent_again_gives_the_same_ticket(
    gateway: Gateway, second_gateway: Gateway, postgres: Any
) -> None:
    token = postgres.token("c-1002")
    send = {"query": "I want to complain", "session": "s-retried", "message_id": "m-1"}
    first = gateway.ask(token, **send)["ticket"]
    again = gateway.ask(token, **send)["ticket"]
    elsewhere = second_gateway.ask(token, **send)["ticket"]
    assert first["created"]
    assert again == elsewhere == {"id": first["id"], "created": False}
    other = gateway.ask(token, **(send | {"message_id": "m-2"}))["ticket"]
    assert other["created"]
    assert other["id"] != first["id"]
    with psycopg.connect(postgres.superuser_url) as connection:
        (count,) = connection.execute("SELECT count(*) FROM tickets.tickets").fetchone() or (0,)
    assert count == 2


def test_two_customers_cannot_share_a_session(
    gateway: Gateway, second_gateway: Gateway, postgres: Any
) -> None:
    mine, theirs = postgres.token("c-1001"), postgres.token("c-1002")
    gateway.ask(mine, "你好", session="shared")
    for one in (gateway, second_gateway):
        reply = one.post(theirs, "hello", session="shared")
        assert reply.status == 403
        assert reply.json()["error"] == "this session belongs to another customer"
        assert one.post(mine, "你好", session="shared").status == 200


def test_a_sample_and_a_log_line_say_what_happened_and_nothing_private(
    gateway: Gateway, postgres: Any
) -> None:
    before = len(gateway.samples())
    secret = "zebra crossing 4711"
    real = gateway.ask(postgres.token("c-1002"), f"hello {secret}", session="s-real")
    gateway.ask(postgres.token("s-en"), "hello", session="s-synthetic")
    gateway.post("wrong-token-0123456789", "hello", session="s-foreign")
    one, two, three = gateway.samples()[before:]
    assert (one["synthetic"], two["synthetic"], three["synthetic"]) == (False, True, False)
    assert (one["http"], one["status"], one["intent"]) == (200, "ok", real["intent"])
    assert (three["http"], three["status"], three["client"]) == (401, "refused", "")
    assert one["client"] not in ("", two["client"])
    assert one["total_ms"] >= one["first_ms"] > 0
    line = gateway.lines()[-3]
    assert line["request_id"] == real["request_id"]
    log = gateway.log.read_text()
    for private in (secret, "c-1002", *postgres.tokens, "s-real"):
        assert private not in log
