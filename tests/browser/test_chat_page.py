"""Customers talk to the assistant on a page that streams, explains itself and keeps no secret."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from selenium.webdriver import Chrome, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from tests.integration.gateway.harness import Gateway, run_gateway
from tests.integration.pipeline.harness import Pipeline, run_pipeline, run_tickets, slowed

HOSTILE = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"

RECORD_SENT = """
const real = window.fetch;
window.sent = [];
window.fetch = (url, options) => {
  window.sent.push(JSON.parse(options.body).message_id);
  return real(url, options);
};
"""


@pytest.fixture(scope="module")
def lane(running_postgres: Any) -> Iterator[Pipeline]:
    with (
        run_tickets(running_postgres) as tickets,
        run_pipeline(running_postgres.url("assistant"), tickets) as pipeline,
    ):
        yield pipeline


@pytest.fixture(scope="module")
def running(
    running_postgres: Any, lane: Pipeline, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Gateway]:
    with run_gateway(
        running_postgres.url("gateway"),
        running_postgres.assertion_key,
        lane.grpc,
        tmp_path_factory.mktemp("gateway"),
        ANSWER_MAX_TOKENS="60",
        DEADLINE_S="60",
    ) as gateway:
        yield gateway


@pytest.fixture
def slow_engine(lane: Pipeline) -> Iterator[None]:
    with slowed(lane):
        yield


class Page:
    """The chat page in a browser."""

    def __init__(self, browser: Chrome, url: str) -> None:
        self.browser = browser
        browser.get(url)

    def one(self, selector: str) -> Any:
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector: str) -> list[Any]:
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def sign_in(self, token: str) -> None:
        self.one("#token").send_keys(token, Keys.ENTER)

    def send(self, text: str) -> None:
        self.one("#query").send_keys(text, Keys.ENTER)

    def wait(self, check: Callable[[], Any], seconds: float = 30) -> Any:
        return WebDriverWait(self.browser, seconds, 0.05).until(lambda _: check())

    def answered(self, count: int) -> Any:
        """The last of `count` answers, once it is complete."""
        done = ".answer[aria-busy='false']"
        self.wait(lambda: len(self.all(done)) >= count)
        return self.all(".answer")[-1]

    def console(self) -> list[str]:
        return [entry["message"] for entry in self.browser.get_log("browser")]  # type: ignore[no-untyped-call]


@pytest.fixture
def page(browser: Chrome, running: Gateway, postgres: Any) -> Page:
    return Page(browser, running.url)


def test_the_page_loads_under_a_strict_policy_without_a_complaint(
    page: Page, running: Gateway
) -> None:
    assert page.browser.title == "Switchyard"
    assert page.one("#signin").is_displayed()
    assert not page.one("#ask").is_displayed()
    policy = running.http.request("GET", running.url + "/", retries=False).headers[
        "content-security-policy"
    ]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert page.all("script:not([src]), [style], [onclick]") == []
    assert page.console() == []


def test_everything_that_can_be_used_has_a_name_a_reader_can_say(page: Page, postgres: Any) -> None:
    for signed_in in (False, True):
        if signed_in:
            page.sign_in(postgres.token("c-1002"))
        shown = [e for e in page.all("button, input, textarea") if e.is_displayed()]
        assert len(shown) >= 3
        assert all(element.accessible_name for element in shown)
    log = page.one("#log")
    assert (log.get_attribute("role"), log.get_attribute("aria-live")) == ("log", "polite")


def test_a_balance_in_chinese_with_its_facts_its_times_and_what_was_left_out(
    page: Page, postgres: Any
) -> None:
    if page.one("html").get_attribute("lang") == "en":
        page.one("#language").click()
    assert page.one("html").get_attribute("lang") == "zh-CN"
    page.sign_in(postgres.token("c-1001"))
    page.one("#ideas button").click()
    answer = page.answered(1)
    assert "12680.50" in answer.find_element(By.CSS_SELECTOR, ".text").text
    assert "保险余额" in answer.find_element(By.CSS_SELECTOR, ".about").text
    assert "ms" in answer.find_element(By.CSS_SELECTOR, ".times").text
    assert "助手的补充说明" in answer.find_element(By.CSS_SELECTOR, ".note").text
    answer.find_element(By.TAG_NAME, "summary").click()
    assert "12680.50 CNY" in answer.find_element(By.TAG_NAME, "table").text
    assert page.one("#lane").text == "local"
    assert page.console() == []


@pytest.mark.usefixtures("slow_engine")
def test_an_english_answer_streams_and_a_complaint_stops_it(page: Page, postgres: Any) -> None:
    page.sign_in(postgres.token("c-1002"))
    page.send("What is my medical insurance balance?")
    lengths: set[int] = set()

    def grows() -> bool:
        lengths.add(len(page.one(".answer .text").text) if page.all(".answer .text") else 0)
        return len(lengths) > 5

    page.wait(grows)
    assert page.one(".answer").get_attribute("aria-busy") == "true"
    page.send("I want to make a complaint!")
    complaint = page.answered(2)
    assert complaint.find_element(By.CSS_SELECTOR, ".ticket").text == "Ticket T-000001"
    stopped = page.all(".answer")[0]
    assert "stopped because you made a complaint" in stopped.text
    assert "3940.00" in stopped.text
    assert page.console() == []


def test_the_token_is_kept_in_this_tab_only_and_forgotten_on_leaving(
    page: Page, postgres: Any
) -> None:
    token = postgres.token("c-1002")
    page.sign_in(token)
    page.send("hello")
    page.answered(1)
    script = page.browser.execute_script
    assert script("return Object.values(sessionStorage)") == [token]
    assert script("return [localStorage.length, document.cookie]") == [0, ""]
    assert token not in page.browser.page_source
    page.browser.refresh()
    assert page.one("#ask").is_displayed()
    page.one("#leave").click()
    assert script("return sessionStorage.length") == 0
    assert page.one("#signin").is_displayed()


def test_a_wrong_token_is_explained_and_asked_for_again(page: Page) -> None:
    page.sign_in("nobody-knows-this-token")
    page.send("hello")
    answer = page.answered(1)
    assert "the bearer token is not known" in answer.text
    assert page.one("#signin").is_displayed()
    assert page.browser.execute_script("return sessionStorage.length") == 0


def test_a_message_that_did_not_get_through_is_sent_again_as_the_same_message(
    page: Page, postgres: Any
) -> None:
    page.sign_in(postgres.token("c-1002"))
    page.send("I want to complain about a late payment")
    first = page.answered(1).find_element(By.CSS_SELECTOR, ".ticket").text
    page.browser.execute_script(RECORD_SENT)
    page.browser.execute_cdp_cmd("Network.enable", {})
    offline = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    page.browser.execute_cdp_cmd("Network.emulateNetworkConditions", offline | {"offline": True})
    page.send("I want to complain about the hotline")
    lost = page.answered(2)
    assert "cannot be reached" in lost.text
    page.browser.execute_cdp_cmd("Network.emulateNetworkConditions", offline | {"offline": False})
    lost.find_element(By.CSS_SELECTOR, "button.again").click()
    second = page.answered(3).find_element(By.CSS_SELECTOR, ".ticket").text
    assert (first, second) == ("Ticket T-000001", "Ticket T-000002")
    lost_id, sent_id = page.browser.execute_script("return window.sent")
    assert lost_id == sent_id


def test_what_a_customer_writes_is_shown_as_text(page: Page, postgres: Any) -> None:
    page.sign_in(postgres.token("c-1002"))
    page.send(HOSTILE)
    page.answered(1)
    assert page.one(".said").text == HOSTILE
    assert page.browser.title == "Switchyard"
    assert page.all(".said img, .said script") == []


def test_enter_sends_and_shift_enter_makes_a_line(page: Page, postgres: Any) -> None:
    page.sign_in(postgres.token("c-1002"))
    page.one("#query").send_keys("hello", Keys.SHIFT + Keys.ENTER)
    time.sleep(0.2)
    assert page.all(".said") == []
    page.one("#query").send_keys(Keys.NULL, "there", Keys.ENTER)
    page.answered(1)
    assert page.one(".said").text == "hello\nthere"
    assert page.one("#query").get_attribute("value") == ""


@pytest.mark.parametrize(("width", "height"), [(360, 640), (1400, 900)])
def test_the_page_fits_a_phone_and_a_desk(
    page: Page, postgres: Any, width: int, height: int
) -> None:
    page.browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600},
    )
    page.sign_in(postgres.token("c-1001"))
    page.send("x" * 300)
    page.answered(1)
    page.send("请帮我解读最近的化验报告")
    page.answered(2).find_element(By.TAG_NAME, "summary").click()
    over = "const e = document.documentElement; return e.scrollWidth - e.clientWidth"
    assert page.browser.execute_script(over) <= 0
    for selector in ("#query", "#send", "#leave"):
        place = page.one(selector).rect
        assert place["x"] >= 0
        assert place["x"] + place["width"] <= width
        assert place["y"] + place["height"] <= height
