"""Staff alone read tickets; pages are bounded; what customers wrote is escaped."""

import base64
from datetime import UTC, datetime

import pytest

from apps.tickets.staff import (
    MAX_PAGE_SIZE,
    PAGE_SIZE,
    BadPage,
    is_staff,
    page_of,
    page_request,
    render,
)
from apps.tickets.ticket import MAX_NUMBER, Ticket, ticket_id, ticket_number

TOKEN = "a-token-of-the-staff"


def ticket(number: int, query: str = "q", name: str = "n") -> Ticket:
    created = datetime(2026, 11, 30, 12, 0, number % 60, tzinfo=UTC)
    return Ticket(number, created, "c-1001", name, "zh", "open", query)


def basic(text: str) -> str:
    return "Basic " + base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize("header", [f"Bearer {TOKEN}", f"bearer {TOKEN}", basic(f"staff:{TOKEN}")])
def test_the_token_opens(header: str) -> None:
    assert is_staff(header, TOKEN)


@pytest.mark.parametrize(
    "header",
    [
        "",
        TOKEN,
        "Bearer",
        "Bearer ",
        f"Bearer  {TOKEN}",
        f"Bearer {TOKEN}x",
        f"Digest {TOKEN}",
        basic(f"admin:{TOKEN}"),
        basic("staff:"),
        basic(TOKEN),
        "Basic not base64",
        "Basic /w==",
        "Bearer \udcff",
    ],
)
def test_anything_else_does_not(header: str) -> None:
    assert not is_staff(header, TOKEN)


@pytest.mark.parametrize(("number", "text"), [(1, "T-000001"), (1_234_567, "T-1234567")])
def test_a_ticket_is_quoted_by_its_id(number: int, text: str) -> None:
    assert ticket_id(number) == text
    assert ticket_number(text) == number


@pytest.mark.parametrize(
    "text", ["", "1", "T-1", "T-000000", "T-0000001", "t-000001", "T-000001\n", "T-１２３４５６"]
)
def test_other_texts_are_no_id(text: str) -> None:
    assert ticket_number(text) is None


def test_a_page_is_asked_for_by_the_ticket_above_it() -> None:
    assert page_request(None, None) == (MAX_NUMBER, PAGE_SIZE)
    assert page_request("T-000030", "5") == (30, 5)
    assert page_request(None, str(MAX_PAGE_SIZE)) == (MAX_NUMBER, MAX_PAGE_SIZE)


@pytest.mark.parametrize("limit", ["", "0", "101", "-1", "1.0", "٣", "9" * 9999])
def test_a_page_is_bounded(limit: str) -> None:
    with pytest.raises(BadPage, match="limit must be 1 to 100"):
        page_request(None, limit)


def test_a_page_names_the_next_only_if_there_is_one() -> None:
    tickets = [ticket(number) for number in (5, 4, 3)]
    assert page_of(tickets, 2, is_first=True).older == "T-000004"
    assert list(page_of(tickets, 2, is_first=True).tickets) == tickets[:2]
    assert page_of(tickets, 3, is_first=True).older is None


def test_hostile_text_is_escaped_everywhere() -> None:
    hostile = "<b onclick='x'>\"&{{ 7*7 }}{% raw %}"
    page = page_of([ticket(1, hostile, hostile)], 25, is_first=True)
    html = render(page, "<i>")
    assert "<b onclick" not in html
    assert "<i>" not in html
    assert html.count("&lt;b onclick=&#39;x&#39;&gt;&#34;&amp;{{ 7*7 }}{% raw %}") == 2


def test_an_empty_page_says_why() -> None:
    assert "No complaint has arrived yet." in render(page_of([], 25, is_first=True), "blue")
    assert "There are no older tickets." in render(page_of([], 25, is_first=False), "blue")
