"""Staff read tickets on a page that works, fits, and runs nothing a customer wrote."""

from typing import Any

import httpx
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By

HOSTILE = (
    "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
    "</bdi></td></table><h1>owned</h1>\u202eesrever\n" + "x" * 600
)


def file(tickets: Any, postgres: Any, customer: str, number: int, query: str, lang: str) -> None:
    body = {
        "assertion": postgres.assertion(customer),
        "message_id": f"m-{number}",
        "query": query,
        "language": lang,
    }
    httpx.post(f"{tickets.url}/v1/tickets", json=body, timeout=10).raise_for_status()


def address(tickets: Any) -> str:
    """The page's address with the staff's name and token in it, as a browser takes them."""
    return str(tickets.url).replace("://", f"://staff:{tickets.staff_token}@")


def column(browser: Chrome, number: int) -> list[str]:
    cells = browser.find_elements(By.CSS_SELECTOR, f"tbody tr > :nth-child({number})")
    return [cell.text for cell in cells]


def complaints_of_console(browser: Chrome) -> list[str]:
    entries = browser.get_log("browser")  # type: ignore[no-untyped-call]
    return [entry["message"] for entry in entries if "favicon" not in entry["message"]]


def test_an_empty_page_says_so(browser: Chrome, tickets: Any) -> None:
    browser.get(address(tickets))
    assert browser.title == "Tickets"
    assert "No complaint has arrived yet." in browser.find_element(By.TAG_NAME, "main").text
    assert complaints_of_console(browser) == []


def test_tickets_are_shown_newest_first_and_older_ones_a_click_away(
    browser: Chrome, tickets: Any, postgres: Any
) -> None:
    for number in range(1, 31):
        file(tickets, postgres, "c-1002", number, f"The claim is late, letter {number}.", "en")
    browser.get(address(tickets))
    first = column(browser, 1)
    assert first == [f"T-{number:06d}" for number in range(30, 5, -1)]
    assert browser.find_elements(By.ID, "newest") == []
    browser.find_element(By.ID, "older").click()
    assert column(browser, 1) == [f"T-{number:06d}" for number in range(5, 0, -1)]
    assert browser.find_elements(By.ID, "older") == []
    browser.find_element(By.ID, "newest").click()
    assert column(browser, 1) == first


def test_a_row_says_who_in_which_language_and_what(
    browser: Chrome, tickets: Any, postgres: Any
) -> None:
    file(tickets, postgres, "c-1001", 1, "我要投诉：理赔一直没有结果。", "zh")
    file(tickets, postgres, "s-zh", 2, "合成客户的投诉", "zh")
    browser.get(address(tickets))
    cells = browser.find_elements(By.CSS_SELECTOR, "tbody tr > *")
    texts = [cell.text for cell in cells]
    assert len(texts) == 6
    assert texts[0] == "T-000001"
    assert texts[2].split() == ["王芳", "c-1001"]
    assert texts[3:] == ["Chinese", "open", "我要投诉：理赔一直没有结果。"]


def test_hostile_text_is_text_in_a_real_browser(
    browser: Chrome, tickets: Any, postgres: Any
) -> None:
    file(tickets, postgres, "c-1002", 1, HOSTILE, "en")
    file(tickets, postgres, "c-1002", 2, "An ordinary complaint.", "en")
    browser.get(address(tickets))
    assert browser.title == "Tickets"
    assert len(browser.find_elements(By.TAG_NAME, "h1")) == 1
    assert browser.find_elements(By.CSS_SELECTOR, "main img, main script") == []
    shown = browser.find_element(By.CSS_SELECTOR, "#T-000001 .query")
    assert shown.get_property("textContent") == HOSTILE
    assert column(browser, 6)[0] == "An ordinary complaint."
    assert complaints_of_console(browser) == []


def test_the_page_fits_a_phone_and_a_desk(browser: Chrome, tickets: Any, postgres: Any) -> None:
    file(tickets, postgres, "c-1002", 1, "x" * 600, "en")
    file(tickets, postgres, "c-1001", 2, "我要投诉" * 100, "zh")
    for width in (500, 1200):
        browser.set_window_size(width, 900)
        browser.get(address(tickets))
        over = browser.execute_script(
            "const page = document.documentElement; return page.scrollWidth - page.clientWidth"
        )
        assert over <= 0, width


def test_without_the_token_the_page_is_closed(browser: Chrome, tickets: Any, postgres: Any) -> None:
    file(tickets, postgres, "c-1002", 1, "An ordinary complaint.", "en")
    browser.get(str(tickets.url).replace("://", "://staff:wrong@"))
    assert "An ordinary complaint." not in browser.page_source
