"""The incident is found from the page alone, with a mouse and with a keyboard."""

import os
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import ActionChains, Chrome, Keys
from selenium.webdriver.common.by import By

from observability.cli.demo import play
from observability.cli.reading import read
from observability.demo.incident import REQUESTS
from observability.demo.stand_in import compile_into
from observability.session.session import Loss, Session
from observability.view.page import page
from tests.unit.observability.trace_records import HEADER, python

ASSISTANT = "observability.demo.assistant.Assistant"


class Page:
    """The diagnostic page in a browser."""

    def __init__(self, browser: Chrome, file: Path) -> None:
        self.browser = browser
        browser.set_window_size(1440, 1400)
        browser.get("about:blank")
        browser.get(file.as_uri())
        # Where the last test left the mouse, it would point at something.
        ActionChains(browser).move_to_element(self.one("h1")).perform()

    def one(self, selector: str) -> Any:
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector: str) -> list[Any]:
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def text(self, selector: str) -> str:
        return str(self.one(selector).text)

    def shot(self, name: str) -> None:
        """Keep a picture where SCREENSHOTS names a folder: somebody looks at them."""
        if folder := os.environ.get("SCREENSHOTS"):
            self.browser.save_screenshot(f"{folder}/{name}.png")

    def console(self) -> list[str]:
        return [entry["message"] for entry in self.browser.get_log("browser")]

    def press(self, selector: str, *keys: str) -> None:
        for key in keys:
            self.one(selector).send_keys(key)


@pytest.fixture(scope="module")
def incident(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("incident")
    compile_into(folder)
    play(folder)
    session, loss = read([folder / "recording.jsonl", folder / "ring"])
    assert loss.lost == 0
    (folder / "page.html").write_text(page(session, loss), encoding="utf-8")
    return folder / "page.html"


@pytest.fixture
def opened(browser: Chrome, incident: Path) -> Page:
    return Page(browser, incident)


@pytest.mark.parametrize(
    ("scenario", "resource", "function"),
    [
        ("lab_report", "copied by the GPU", "copy_weights"),
        ("insurance_balance", "GPU memory held", "take_cache"),
        ("document_question", "tokens discarded", "generate"),
    ],
)
def test_three_clicks_lead_to_the_function(
    opened: Page, scenario: str, resource: str, function: str
) -> None:
    # One: what stands out. Two: the worst request. Three: its widest innermost function.
    # A busy machine adds findings of its own about time.
    wanted = f"{scenario}: {resource} "
    (line,) = [b for b in opened.all("#findings button") if b.text.startswith(wanted)]
    line.click()
    assert {row.find_elements(By.TAG_NAME, "td")[1].text for row in opened.all("#rows tr")} == {
        scenario
    }
    opened.all("#rows tr")[0].click()
    assert opened.text("#weight option:checked") == resource
    flame = opened.one("#flame")
    rows = flame.size["height"] // 22
    ActionChains(opened.browser).move_to_element_with_offset(
        flame, 20 - flame.size["width"] // 2, 22 * rows - flame.size["height"] // 2 - 11
    ).click().perform()
    assert opened.text("#frame").startswith(f"{ASSISTANT}.{function}: ")
    assert scenario in opened.text("#line")
    opened.shot(f"incident-{scenario}")
    assert opened.console() == []


def test_the_keyboard_leads_there_too(opened: Page) -> None:
    opened.press("#picture", "4", "n")
    assert " by " in opened.text("#cell")
    while not opened.text("#cell").startswith("copied by the GPU"):
        opened.press("#picture", "n")
    opened.press("#picture", Keys.ENTER)
    assert opened.text("#count") == f"9 of {REQUESTS} requests"
    opened.press("#rows tr", Keys.ENTER)
    opened.press("#flame", Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    assert opened.text("#frame").startswith(f"{ASSISTANT}.copy_weights: 12 calls")
    opened.press("#picture", Keys.ESCAPE)
    assert opened.text("#count") == f"{REQUESTS} of {REQUESTS} requests"
    assert opened.console() == []


def test_it_can_be_turned_and_looked_at_from_every_side(opened: Page) -> None:
    def pixels() -> str:
        return str(
            opened.browser.execute_script("return document.getElementById('picture').toDataURL()")
        )

    seen = {pixels()}
    for turn in ("front", "top", "side", "whole"):
        opened.one(f"[data-turn={turn}]").click()
        assert opened.one(f"[data-turn={turn}]").get_attribute("aria-pressed") == "true"
        opened.shot(f"turn-{turn}")
        seen.add(pixels())
    opened.press("#picture", Keys.ARROW_LEFT)
    seen.add(pixels())
    ActionChains(opened.browser).drag_and_drop_by_offset(opened.one("#picture"), 80, 30).perform()
    seen.add(pixels())
    assert len(seen) == 6
    assert opened.console() == []


def test_a_click_on_a_cell_slices_there(opened: Page) -> None:
    opened.one("[data-turn=side]").click()
    picture = opened.one("#picture")
    # The cell of "tokens discarded" by document_question: the second column, the last row.
    x = 150 + (picture.size["width"] - 186) * 1.5 / 5
    y = 18 + (picture.size["height"] - 54) * 7.5 / 8
    ActionChains(opened.browser).move_to_element_with_offset(
        picture, int(x - picture.size["width"] / 2), int(y - picture.size["height"] / 2)
    ).click().perform()
    assert opened.text("#resource option:checked") == "tokens discarded"
    assert opened.text("#scenario option:checked") == "document_question"


def test_a_link_shows_the_same(opened: Page) -> None:
    opened.all("#findings button")[0].click()
    opened.all("#rows tr")[0].click()
    before = opened.text("#request-title"), opened.text("#count")
    address = opened.browser.current_url
    opened.browser.get("about:blank")
    opened.browser.get(address)
    assert (opened.text("#request-title"), opened.text("#count")) == before


def test_ten_thousand_requests_can_be_read(browser: Chrome, tmp_path: Path) -> None:
    records = [HEADER]
    for number in range(10_000):
        name, at = f"request-{number:05}", number * 1_000
        records += [
            python(at, "entry", "f", request=name),
            python(at + 10 + number, "return", "f", request=name),
            {"layer": "ring", "request_id": name, "intent": f"scenario {number % 7}"},
        ]
    file = tmp_path / "page.html"
    file.write_text(page(Session(records), Loss(20_000, 20_000, 0)), encoding="utf-8")
    opened = Page(browser, file)
    assert opened.text("#count") == "10000 of 10000 requests"
    assert opened.text("#rows tr td") == "request-09999"
    assert len(opened.all("#rows tr")) == 100
    opened.one("#on").click()
    assert opened.text("#which") == "page 2 of 100"
    opened.one("#find").send_keys("request-0123")
    assert opened.text("#count") == "10 of 10000 requests"
    opened.shot("ten-thousand")
    assert opened.console() == []


def test_names_are_text_and_nothing_else(browser: Chrome, tmp_path: Path) -> None:
    hostile = "</script><img src=x onerror=\"document.title='owned'\">"
    file = tmp_path / "page.html"
    records = [
        python(0, "entry", hostile, request=hostile),
        python(5_000, "return", hostile, request=hostile),
        {"layer": "ring", "request_id": hostile, "intent": hostile},
    ]
    file.write_text(page(Session(records), Loss(2, 2, 0)), encoding="utf-8")
    opened = Page(browser, file)
    opened.all("#rows tr")[0].click()
    assert opened.text("#rows tr td") == hostile
    assert "owned" not in opened.browser.title


def test_losses_are_seen_at_once(browser: Chrome, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(page(Session([]), Loss(13, 12, 1)), encoding="utf-8")
    assert Page(browser, file).text("#about .lost") == "1 lost, 12 read of 13 events"


def test_what_the_gpus_counters_mean_stands_out_too(browser: Chrome, tmp_path: Path) -> None:
    found = {"name": "memory is full", "evidence": {"memory_percent": 99.0}, "do": "<less>"}
    reading = {"layer": "nvml", "t_ns": 1, "gpu": 0, "fields": {"name": "x"}, "problems": {},
               "ghosts": {"9": 2048}, "findings": [found]}  # fmt: skip
    file = tmp_path / "page.html"
    file.write_text(page(Session([reading]), Loss(0, 0, 0)), encoding="utf-8")
    assert [line.text for line in Page(browser, file).all("#findings li")] == [
        "GPU 0: in 1 of 1 readings memory is full (memory_percent 99): <less>",
        "GPU 0: 2.0K held by process 9, which is no more",
    ]
