"""A complaint becomes one ticket, stops its session with the commit, and is shown safely."""

import base64
import json
import socket
import ssl
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import httpx
import psycopg
import pytest

HOSTILE = (
    "<script>alert(1)</script>\"'>&amp;{{ 7*7 }}\u202eevil\u202c\n\r\u2028"
    "<img src=x onerror=alert(2)>"
)


def complaint(postgres: Any, customer: str = "c-1001", **changes: Any) -> dict[str, Any]:
    body = {
        "assertion": postgres.assertion(customer, session="session-of-" + customer),
        "message_id": "m-1",
        "query": "我要投诉",
        "language": "zh",
    }
    return {**body, **changes}


def post(tickets: Any, body: Any) -> httpx.Response:
    return httpx.post(f"{tickets.url}/v1/tickets", json=body, timeout=10)


def count(postgres: Any) -> int:
    with psycopg.connect(postgres.superuser_url) as connection:
        row = connection.execute("SELECT count(*) FROM tickets.tickets").fetchone()
    return int((row or (0,))[0])


def test_a_complaint_becomes_a_ticket_and_a_retry_the_same(postgres: Any, tickets: Any) -> None:
    first = post(tickets, complaint(postgres))
    assert (first.status_code, first.json()) == (201, {"id": "T-000001", "created": True})
    again = post(tickets, complaint(postgres))
    assert (again.status_code, again.json()) == (200, {"id": "T-000001", "created": False})
    assert count(postgres) == 1


def test_the_key_is_customer_and_message_id_together(postgres: Any, tickets: Any) -> None:
    bodies = [
        complaint(postgres),
        complaint(postgres, message_id="m-2"),
        complaint(postgres, "c-1002"),
    ]
    ids = [post(tickets, body).json()["id"] for body in bodies * 2]
    assert len(set(ids)) == 3
    assert ids[:3] == ids[3:]


def test_fifty_at_once_make_one_ticket(postgres: Any, tickets: Any) -> None:
    body = complaint(postgres)

    def send(client: httpx.Client) -> httpx.Response:
        while True:  # a service that is too busy says 503, and its caller tries again
            answer = client.post(f"{tickets.url}/v1/tickets", json=body, timeout=30)
            if answer.status_code != 503:
                return answer

    with ExitStack() as stack, ThreadPoolExecutor(50) as threads:
        context = ssl.create_default_context()
        clients = [stack.enter_context(httpx.Client(verify=context)) for _ in range(50)]
        answers = list(threads.map(send, clients))
    assert {answer.json()["id"] for answer in answers} == {answers[0].json()["id"]}
    assert sorted(answer.status_code for answer in answers) == [200] * 49 + [201]
    assert count(postgres) == 1


def test_fifty_connections_at_once_make_one_ticket_without_the_services_pool(postgres: Any) -> None:
    assertion = postgres.assertion("c-1001")

    def file(_: int) -> tuple[Any, ...]:
        with psycopg.connect(postgres.url("tickets")) as connection:
            connection.execute("SELECT set_config('switchyard.assertion', %s, true)", (assertion,))
            row = connection.execute("SELECT * FROM tickets.file('m', 'q', 'en')").fetchone()
        assert row is not None
        return row

    with ThreadPoolExecutor(50) as threads:
        rows = list(threads.map(file, range(50)))
    assert len({number for number, _ in rows}) == 1
    assert [created for _, created in rows].count(True) == 1
    assert count(postgres) == 1


def test_the_notice_comes_with_the_commit_and_not_before(postgres: Any) -> None:
    assertion = postgres.assertion("c-1001", session="a-session")
    with (
        psycopg.connect(postgres.url("gateway"), autocommit=True) as gateway,
        psycopg.connect(postgres.url("tickets")) as writer,
    ):
        gateway.execute("LISTEN session_stop")
        writer.execute("SELECT set_config('switchyard.assertion', %s, true)", (assertion,))
        writer.execute("SELECT * FROM tickets.file('m', 'q', 'en')")
        assert list(gateway.notifies(timeout=0.5)) == []
        writer.commit()
        notices = list(gateway.notifies(timeout=5, stop_after=1))
        assert [(n.channel, n.payload) for n in notices] == [("session_stop", "a-session")]


def test_a_rolled_back_complaint_stops_nothing_and_a_retry_stops_nothing_more(
    postgres: Any, tickets: Any
) -> None:
    body = complaint(postgres)
    with (
        psycopg.connect(postgres.url("gateway"), autocommit=True) as gateway,
        psycopg.connect(postgres.url("tickets")) as writer,
    ):
        gateway.execute("LISTEN session_stop")
        name = "switchyard.assertion"
        writer.execute("SELECT set_config(%s, %s, true)", (name, body["assertion"]))
        writer.execute("SELECT * FROM tickets.file('m-1', 'q', 'en')")
        writer.rollback()
        assert list(gateway.notifies(timeout=0.3)) == []
        for _ in range(3):
            post(tickets, body)
        notices = list(gateway.notifies(timeout=1))
    assert [notice.payload for notice in notices] == ["session-of-c-1001"]


def test_nobody_files_in_anothers_name(postgres: Any, tickets: Any) -> None:
    good = postgres.assertion("c-1001")
    for assertion in (
        good.replace("c-1001", "c-1002"),
        postgres.assertion("c-1001", lifetime_s=-1),
        "v1.c-1001.s.9999999999." + "0" * 64,
        postgres.assertion("nobody"),
        "c-1001",
    ):
        answer = post(tickets, complaint(postgres, assertion=assertion))
        assert answer.status_code == 403
        assert answer.json() == {"error": "the assertion is not valid now; ask for a new one"}
    assert count(postgres) == 0


BAD = [
    (b"", "not JSON"),
    (b"{", "not JSON"),
    (b'{"query": NaN}', "NaN"),
    (b'{"a": 1, "a": 2}', "stands twice"),
    (b"[" * 60000, "nested deeper"),
    (b'{"query": "\\ud800"}', "lone surrogate"),
    (b'{"query": "\xff"}', "UTF-8"),
    (b"[]", "an object of exactly"),
    (b"{}", "an object of exactly"),
]


@pytest.mark.parametrize(("body", "why"), BAD, ids=[why for _, why in BAD])
def test_a_body_that_is_no_complaint_is_refused_in_one_line(
    tickets: Any, body: bytes, why: str
) -> None:
    answer = httpx.post(f"{tickets.url}/v1/tickets", content=body)
    assert answer.status_code == 400
    assert why in answer.json()["error"]
    assert "\n" not in answer.json()["error"]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"message_id": ""}, "message_id must have 1 to 128"),
        ({"message_id": "a\nb"}, "printable"),
        ({"query": "x" * 4001}, "query must have 1 to 4000"),
        ({"query": None}, "query must be a string"),
        ({"language": "de"}, "language must be one of zh, en"),
        ({"extra": "x"}, "an object of exactly"),
    ],
)
def test_a_field_that_is_wrong_is_named(
    postgres: Any, tickets: Any, changes: dict[str, Any], why: str
) -> None:
    answer = post(tickets, complaint(postgres, **changes))
    assert answer.status_code == 400
    assert why in answer.json()["error"]


def test_a_body_too_long_is_refused_and_its_connection_closed(tickets: Any) -> None:
    answer = httpx.post(f"{tickets.url}/v1/tickets", content=b" " * 100_000)
    assert answer.status_code == 413
    assert answer.json()["error"].startswith("the body is longer than 65536 bytes")
    assert answer.headers["connection"] == "close"


def test_a_body_that_never_comes_is_given_up(tickets: Any) -> None:
    host, port = tickets.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as client:
        client.sendall(b"POST /v1/tickets HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{")
        start = time.monotonic()
        assert client.recv(100).startswith(b"HTTP/1.1 408")
        assert time.monotonic() - start < 8


def test_the_longest_complaint_is_kept_whole(postgres: Any, tickets: Any) -> None:
    query = "投" * 4000
    answer = post(tickets, complaint(postgres, query=query))
    shown = httpx.get(f"{tickets.url}/v1/tickets/{answer.json()['id']}", headers=tickets.staff)
    assert shown.json()["query"] == query


@pytest.mark.parametrize("path", ["/", "/v1/tickets", "/v1/tickets/T-000001", "/?output=json"])
def test_only_staff_read_tickets(postgres: Any, tickets: Any, path: str) -> None:
    post(tickets, complaint(postgres))
    url = tickets.url + path
    basic = base64.b64encode(f"staff:{tickets.staff_token}".encode()).decode()
    for good in (tickets.staff, {"Authorization": f"Basic {basic}"}):
        assert httpx.get(url, headers=good).status_code == 200
    other = base64.b64encode(f"root:{tickets.staff_token}".encode()).decode()
    for bad in ("", "Bearer", "Bearer x", f"Basic {other}", "Basic %%%", "Basic /w==", "Bearer é"):
        answer = httpx.get(url, headers={b"Authorization": bad.encode()})
        assert answer.status_code == 401, bad
        assert answer.headers["www-authenticate"].startswith("Basic")


def test_the_page_shows_what_json_shows_newest_first(postgres: Any, tickets: Any) -> None:
    for number in range(1, 8):
        post(tickets, complaint(postgres, message_id=f"m-{number}", query=f"query {number}"))
    seen: list[str] = []
    params = {"limit": "3"}
    while True:
        page = httpx.get(f"{tickets.url}/v1/tickets", params=params, headers=tickets.staff).json()
        same = httpx.get(
            tickets.url, params={**params, "output": "json"}, headers=tickets.staff
        ).json()
        html = httpx.get(tickets.url, params=params, headers=tickets.staff).text
        assert same == page
        assert [html.count(f'id="{t["id"]}"') for t in page["tickets"]] == [1] * len(
            page["tickets"]
        )
        seen += [ticket["query"] for ticket in page["tickets"]]
        if page["older"] is None:
            break
        params["before"] = page["older"]
    assert seen == [f"query {number}" for number in range(7, 0, -1)]


def test_a_ticket_says_number_status_language_and_who(postgres: Any, tickets: Any) -> None:
    made = post(tickets, complaint(postgres)).json()["id"]
    ticket = httpx.get(f"{tickets.url}/v1/tickets/{made}", headers=tickets.staff).json()
    created = ticket.pop("created_at")
    assert created.endswith("Z")
    assert ticket == {
        "id": "T-000001",
        "customer": "c-1001",
        "name": "王芳",
        "language": "zh",
        "status": "open",
        "query": "我要投诉",
    }


def test_synthetic_customers_tickets_are_made_but_not_shown(postgres: Any, tickets: Any) -> None:
    made = post(tickets, complaint(postgres, "s-zh")).json()["id"]
    assert count(postgres) == 1
    page = httpx.get(f"{tickets.url}/v1/tickets", headers=tickets.staff).json()
    assert page == {"tickets": [], "older": None}
    one = httpx.get(f"{tickets.url}/v1/tickets/{made}", headers=tickets.staff)
    assert (one.status_code, one.json()) == (404, {"error": "there is no such ticket"})


def test_hostile_text_is_shown_as_text(postgres: Any, tickets: Any) -> None:
    post(tickets, complaint(postgres, query=HOSTILE))
    page = httpx.get(tickets.url, headers=tickets.staff)
    assert "<script>" not in page.text
    assert "<img" not in page.text
    assert "&lt;script&gt;alert(1)" in page.text
    assert "{{ 7*7 }}" in page.text
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    assert page.headers["x-content-type-options"] == "nosniff"
    listed = httpx.get(f"{tickets.url}/v1/tickets", headers=tickets.staff).json()
    assert listed["tickets"][0]["query"] == HOSTILE


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("before=x", "before must be"),
        ("before=T-1", "before must be"),
        ("before=T-999999999999999999999", "before must be"),
        ("limit=0", "limit must be"),
        ("limit=101", "limit must be"),
        ("limit=-1", "limit must be"),
        ("limit=1e1", "limit must be"),
    ],
)
def test_a_page_that_is_not_is_refused(tickets: Any, query: str, why: str) -> None:
    for path in ("/", "/v1/tickets"):
        answer = httpx.get(f"{tickets.url}{path}?{query}", headers=tickets.staff)
        assert answer.status_code == 400
        assert why in answer.json()["error"]


def test_unknown_paths_and_methods_are_one_line(tickets: Any) -> None:
    for method, path, status in (("GET", "/nothing", 404), ("DELETE", "/v1/tickets", 405)):
        answer = httpx.request(method, tickets.url + path)
        assert answer.status_code == status
        assert "\n" not in json.dumps(answer.json())


def test_probes_ask_the_database(tickets: Any) -> None:
    for path in ("/livez", "/readyz", "/startupz"):
        assert httpx.get(tickets.url + path).status_code == 200
