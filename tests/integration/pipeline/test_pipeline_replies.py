"""Each intent in both languages, answered by real models from a real database."""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
import tritonclient.grpc as triton


def named(reply: dict[str, Any]) -> dict[str, str]:
    return {fact["name"]: fact["value"] for fact in reply["facts"]}


@pytest.mark.parametrize(
    ("customer", "query", "words"),
    [
        ("s-zh", "我的医保余额还有多少？", ("8250.00 CNY", "300.00")),
        ("s-en", "How much is left in my medical insurance account?", ("8250.00 CNY", "300.00")),
        ("c-1001", "我的醫保餘額還有多少", ("12680.50 CNY", "已全部用完")),
        ("c-1003", "查一下余额", ("0.00 CNY", "额度已经用完")),
    ],
)
def test_a_balance_is_answered_from_the_askers_own_account(
    pipeline: Any, postgres: Any, customer: str, query: str, words: tuple[str, ...]
) -> None:
    reply = pipeline.ask(query, postgres.assertion(customer))
    assert (reply["intent"], reply["status"]) == ("insurance_balance", "ok")
    assert all(word in reply["text"] for word in words), reply["text"]
    assert named(reply)["balance"] == words[0].split()[0]


@pytest.mark.parametrize(
    ("customer", "query", "words"),
    [
        (
            "s-zh",
            "请帮我解读化验单",
            ("空腹血糖：6.8 mmol/L，高于参考范围（3.9–6.1）", "咨询您的医生"),
        ),
        ("s-en", "Please explain my lab report", ("Fasting glucose: 6.8 mmol/L, above", "3.9–6.1")),
        ("c-1003", "化验结果正常吗", ("所有项目都在参考范围内",)),
    ],
)
def test_a_lab_report_is_explained_with_values_and_ranges(
    pipeline: Any, postgres: Any, customer: str, query: str, words: tuple[str, ...]
) -> None:
    reply = pipeline.ask(query, postgres.assertion(customer))
    assert (reply["intent"], reply["status"]) == ("lab_report", "ok")
    assert all(word in reply["text"] for word in words), reply["text"]
    glucose = next(fact for fact in reply["facts"] if fact["name"] == "glucose")
    assert glucose["reference"] == "3.9–6.1"


def test_the_model_is_asked_only_in_the_language_it_knows(pipeline: Any, postgres: Any) -> None:
    english = pipeline.ask("what is my balance", postgres.assertion("s-en"))
    chinese = pipeline.ask("余额", postgres.assertion("s-zh"))
    assert "8250.00 CNY" in english["prompt"]
    assert english["omitted"] == []
    assert chinese["prompt"] is None
    assert chinese["omitted"] == [{"what": "model_words", "why": "the model does not know zh"}]


def test_without_records_the_reply_says_so(pipeline: Any, postgres: Any) -> None:
    for query, words in (("余额", "没有查到您名下"), ("my lab report", "no laboratory report")):
        reply = pipeline.ask(query, postgres.assertion("c-1005"))
        assert (reply["status"], reply["facts"], reply["prompt"]) == ("ok", [], None)
        assert words in reply["text"]


def test_a_greeting_is_answered_in_its_language(pipeline: Any, postgres: Any) -> None:
    assert pipeline.ask("hello", postgres.assertion("c-1001"))["text"].startswith("Hello!")
    assert pipeline.ask("你好", postgres.assertion("c-1002"))["text"].startswith("您好")


@pytest.mark.parametrize(
    "query", ["我要投诉，余额又算错了", "I want to complain about a wrong balance"]
)
def test_a_complaint_becomes_exactly_one_ticket_however_often_sent(
    pipeline: Any, postgres: Any, query: str
) -> None:
    assertion = postgres.assertion("c-1002")
    with ThreadPoolExecutor(6) as pool:
        replies = list(pool.map(lambda _: pipeline.ask(query, assertion, "same"), range(6)))
    assert {reply["intent"] for reply in replies} == {"complaint"}
    assert {reply["status"] for reply in replies} == {"ok"}
    numbers = {reply["ticket"]["id"] for reply in replies}
    assert len(numbers) == 1
    assert sum(reply["ticket"]["created"] for reply in replies) == 1
    assert all(reply["ticket"]["id"] in reply["text"] for reply in replies)
    other = pipeline.ask(query, assertion, "another")
    assert other["ticket"]["id"] not in numbers
    with psycopg.connect(postgres.superuser_url) as connection:
        rows = connection.execute("SELECT query FROM tickets.tickets").fetchall()
    assert [row[0] for row in rows] == [query, query]


@pytest.mark.parametrize(
    "assertion",
    ["", "garbage", "v1.c-1001.s.9999999999." + "0" * 64, "v1.c-1001.s\0.1.x", "é" * 5000],
)
def test_without_a_valid_assertion_nobodys_facts_are_shown(pipeline: Any, assertion: str) -> None:
    for query in ("what is my balance", "explain my lab report", "I want to complain"):
        reply = pipeline.ask(query, assertion)
        assert (reply["status"], reply["facts"], reply["ticket"]) == ("degraded", [], None)
        assert reply["reason"]
        assert "just now" in reply["text"]


def test_an_expired_assertion_is_refused(pipeline: Any, postgres: Any) -> None:
    reply = pipeline.ask("what is my balance", postgres.assertion("c-1001", lifetime_s=-1))
    assert reply["status"] == "degraded"
    assert reply["reason"] == "the customer's identity is not valid now"


@pytest.mark.parametrize(
    ("query", "status", "reason"),
    [
        (b"x" * 100_000, "degraded", "the query is longer than 4000 characters"),
        ("长" * 4001, "degraded", "the query is longer than 4000 characters"),
        (b"\xff" * 100_000, "degraded", "the query is longer than 4000 characters"),
        (b"\0\0\0", "degraded", "the query has no words"),
        (b"", "degraded", "the query has no words"),
        ("😀👍", "degraded", "the query has no words"),
        (b"my \0bal\0ance", "ok", None),
        (b"\xed\xa0\x80 balance \xed\xbf\xbf", "ok", None),
        ("\u202ebalance\u202c", "ok", None),
        ("balance " * 499, "ok", None),
        ("\ufdfa" * 4000, "ok", None),
        ('{"a":' * 700, "ok", None),
        ("{{ 7 * 7 }} {% raw %} balance", "ok", None),
    ],
)
def test_hostile_queries_get_an_answer(
    pipeline: Any, postgres: Any, query: str | bytes, status: str, reason: str | None
) -> None:
    reply = pipeline.ask(query, postgres.assertion("c-1002"))
    assert (reply["status"], reply["reason"]) == (status, reason)
    assert reply["text"]
    assert "49" not in reply["text"]


def test_a_tensor_of_another_shape_is_refused_and_the_server_lives(pipeline: Any) -> None:
    import numpy as np

    wide = triton.InferInput("query", [2], "BYTES")
    wide.set_data_from_numpy(np.array([b"a", b"b"], np.object_))
    with pytest.raises(triton.InferenceServerException):
        pipeline.client.infer("assistant", [wide])
    with pytest.raises(triton.InferenceServerException):
        pipeline.client.load_model("assistant")
    assert pipeline.ask("hello")["status"] == "ok"


def test_replies_keep_apart_under_load(pipeline: Any, postgres: Any) -> None:
    balances = {"c-1001": "12680.50", "c-1002": "3940.00", "s-en": "8250.00", "c-1004": "27115.25"}
    assertions = {name: postgres.assertion(name) for name in balances}
    jobs = [name for name in balances for _ in range(60)]
    spent = []

    def one(customer: str) -> bool:
        begun = time.perf_counter()
        reply = pipeline.ask("what is my balance", assertions[customer])
        spent.append(time.perf_counter() - begun)
        return named(reply).get("balance") == balances[customer]

    begun = time.perf_counter()
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(one, jobs))
    spent.sort()
    half, most = spent[len(spent) // 2], spent[int(len(spent) * 0.95)]
    print(
        f"\nassistant: {len(jobs) / (time.perf_counter() - begun):.0f} requests/s by 8 clients,"
        f" P50 {half * 1000:.0f} ms, P95 {most * 1000:.0f} ms"
    )
