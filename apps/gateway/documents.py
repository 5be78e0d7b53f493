"""`POST /v1/documents`: a customer's PDF file, part by part; when it is whole, it is loaded."""

import asyncio
import json
from dataclasses import asdict

from starlette.types import Receive, Scope, Send

from apps.gateway.directory import Directory, DirectoryDown, Uploaded
from apps.gateway.part import MAX_PART_BYTES, Part, read_part
from apps.gateway.record import Record
from apps.gateway.refusal import Refusal
from apps.gateway.request import bearer_token, read_body

AT_ONCE = 2
"""Parts in memory, and connections of the directory's that they take from the chat."""


class Documents:
    """The endpoint. The reply says how many bytes are there: the client goes on with that one,
    so a part may be sent again after any failure."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory
        self._room = asyncio.Semaphore(AT_ONCE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take one part; raises Refusal or ClientGone before the reply begins."""
        record: Record = scope["record"]
        headers: dict[str, str] = scope["headers_once"]
        part = read_part(headers)
        try:
            customer = await self._directory.authenticate(bearer_token(headers))
            record.customer = customer
            uploaded = await self._take(customer.id, part, headers, receive)
        except DirectoryDown:
            raise Refusal(
                503,
                "the document store does not answer",
                "send the part again in a few seconds",
                retry_after="2",
            ) from None
        record.status = "ok"
        await _reply(send, uploaded)

    async def _take(
        self, customer: str, part: Part, headers: dict[str, str], receive: Receive
    ) -> Uploaded:
        if self._room.locked():
            raise Refusal(
                503, "busy: other files arrive", "send the part again soon", retry_after="1"
            )
        async with self._room:
            body = await read_body(
                headers,
                receive,
                most=MAX_PART_BYTES,
                instead="send smaller parts",
            )
            wanted = 0 if part.start is None else part.end - part.start
            if len(body) != wanted:
                raise Refusal(
                    400,
                    f"the body has {len(body)} bytes, the Content-Range {wanted}",
                    "send the bytes that the Content-Range names",
                )
            return await self._directory.take_part(customer, part, body)


async def _reply(send: Send, uploaded: Uploaded) -> None:
    body = json.dumps(asdict(uploaded), ensure_ascii=False).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
    ]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})
