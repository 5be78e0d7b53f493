"""The upload endpoint: one part a request, bounded, and always an answer."""

import asyncio
import json
from typing import Any

import pytest
from starlette.types import Message

from apps.gateway.directory import Customer, DirectoryDown, Uploaded
from apps.gateway.documents import AT_ONCE, Documents
from apps.gateway.part import Part
from apps.gateway.record import Record
from apps.gateway.refusal import Refusal
from tests.unit.gateway.test_part import GOOD

HEADERS = {**GOOD, "authorization": "Bearer t", "content-range": "bytes 0-3/4"}


class FakeDirectory:
    def __init__(self, *, down: bool = False) -> None:
        self.taken: list[tuple[str, Part, bytes]] = []
        self.down = down

    async def authenticate(self, token: str) -> Customer:
        return Customer("c-1001", "zh", False)

    async def take_part(self, customer: str, part: Part, content: bytes) -> Uploaded:
        if self.down:
            raise DirectoryDown("the customer database does not answer")
        self.taken.append((customer, part, content))
        return Uploaded(len(content), "queued", "")


def post(directory: FakeDirectory, body: bytes, headers: dict[str, str] = HEADERS) -> Any:
    """The reply's status and JSON."""
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    record = Record("r", "POST", "/v1/documents", 0.0)
    scope = {"type": "http", "record": record, "headers_once": headers}
    asyncio.run(Documents(directory)(scope, receive, send))  # type: ignore[arg-type]
    assert record.customer is not None
    return sent[0]["status"], json.loads(sent[1]["body"])


def test_a_part_is_kept_for_the_customer_of_the_token() -> None:
    directory = FakeDirectory()
    assert post(directory, b"%PDF") == (200, {"received": 4, "state": "queued", "error": ""})
    ((customer, part, content),) = directory.taken
    assert (customer, part.name, part.start, content) == ("c-1001", "化验单.pdf", 0, b"%PDF")


@pytest.mark.parametrize("body", [b"", b"%P", b"%PDF-1"])
def test_a_body_that_is_not_what_was_announced_is_refused(body: bytes) -> None:
    directory = FakeDirectory()
    with pytest.raises(Refusal, match="the Content-Range 4"):
        post(directory, body)
    assert directory.taken == []


def test_asking_how_far_the_file_is_needs_no_body() -> None:
    directory = FakeDirectory()
    post(directory, b"", {**HEADERS, "content-range": "bytes */4"})
    assert directory.taken[0][1].start is None


def test_a_body_beyond_two_mebibytes_is_refused_unread() -> None:
    with pytest.raises(Refusal, match="longer than 2097152 bytes") as caught:
        post(FakeDirectory(), b"x" * 2_097_153)
    assert (caught.value.http, caught.value.do) == (413, "send smaller parts")


def test_without_the_database_the_client_is_told_to_send_again() -> None:
    with pytest.raises(Refusal, match="does not answer") as caught:
        post(FakeDirectory(down=True), b"%PDF")
    assert caught.value.http == 503
    assert caught.value.headers == {"retry-after": "2"}


def test_more_parts_at_once_than_there_is_room_for_are_told_to_come_back() -> None:
    async def crowd() -> list[object]:
        never = asyncio.Event()
        documents = Documents(FakeDirectory())  # type: ignore[arg-type]

        async def receive() -> Message:
            await never.wait()
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            raise AssertionError(message)

        def start() -> "asyncio.Task[None]":
            record = Record("r", "POST", "/v1/documents", 0.0)
            scope = {"type": "http", "record": record, "headers_once": HEADERS}
            return asyncio.ensure_future(documents(scope, receive, send))

        waiting = [start() for _ in range(AT_ONCE)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        late = start()
        done, _ = await asyncio.wait([late], timeout=5)
        for task in waiting:
            task.cancel()
        return [task.exception() for task in done]

    (error,) = asyncio.run(crowd())
    assert isinstance(error, Refusal)
    assert (error.http, error.headers) == (503, {"retry-after": "1"})
