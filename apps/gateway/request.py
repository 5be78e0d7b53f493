"""Reading a request's head and body within bounds."""

import asyncio
import contextlib
from collections.abc import Mapping

from starlette.types import Receive, Scope

from apps.gateway.question import MAX_BODY_BYTES
from apps.gateway.refusal import ClientGone, Refusal

BODY_TIMEOUT_S = 10.0
MAX_DISCARDED_BYTES = 1 << 20
DISCARD_S = 3.0
MAX_HEAD_BYTES = 16 * 1024


def headers_of(scope: Scope) -> dict[str, str]:
    """Header names (lower case) to values, within bounds and with one meaning only.

    Raises Refusal (400, 431).
    """
    headers: dict[str, str] = {}
    if sum(len(name) + len(value) for name, value in scope["headers"]) > MAX_HEAD_BYTES:
        raise Refusal(
            431,
            f"the headers are longer than {MAX_HEAD_BYTES} bytes",
            "send fewer",
            connection="close",
        )
    for raw_name, raw_value in scope["headers"]:
        name = raw_name.decode("latin-1")
        if name in headers and name in ("authorization", "content-type", "content-length"):
            raise Refusal(400, f"the header {name} stands twice", "send it once")
        headers[name] = raw_value.decode("latin-1")
    if "content-length" in headers and "transfer-encoding" in headers:
        # A proxy before us may read the other one (RFC 9112, 6.1).
        raise Refusal(
            400,
            "both Content-Length and Transfer-Encoding are there",
            "send one of them",
            connection="close",
        )
    return headers


def check_json(headers: Mapping[str, str]) -> None:
    """Refuse what is not announced as JSON in UTF-8 (415)."""
    kind, _, parameter = headers.get("content-type", "").partition(";")
    charset = parameter.strip().lower().replace('"', "")
    if kind.strip().lower() != "application/json" or charset not in ("", "charset=utf-8"):
        raise Refusal(
            415, "the content type is not JSON", "send the header Content-Type: application/json"
        )
    if headers.get("content-encoding", "identity").lower() != "identity":
        raise Refusal(415, "the body is compressed", "send it without Content-Encoding")


def bearer_token(headers: Mapping[str, str]) -> str:
    """The token of `Authorization: Bearer …` (401 without one)."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise Refusal(
            401,
            "there is no bearer token",
            "send the header Authorization: Bearer TOKEN",
            www_authenticate="Bearer",
        )
    return token.strip()


async def read_body(
    headers: Mapping[str, str],
    receive: Receive,
    *,
    most: int = MAX_BODY_BYTES,
    instead: str = "send a shorter question",
) -> bytes:
    """The whole body, of `most` bytes; `instead` is what to do with a longer one. Raises Refusal
    (408, 413) or ClientGone."""
    announced = headers.get("content-length", "0")
    if announced.isdigit() and int(announced) > most:
        await _discard(receive)
        raise _too_long(most, instead)
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_TIMEOUT_S):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClientGone
                body += message.get("body", b"")
                if len(body) > most:
                    await _discard(receive)
                    raise _too_long(most, instead)
                if not message.get("more_body", False):
                    return bytes(body)
    except TimeoutError:
        raise Refusal(
            408,
            f"the body did not arrive within {BODY_TIMEOUT_S:.0f} s",
            "send it at once",
            connection="close",
        ) from None


async def _discard(receive: Receive) -> None:
    """Read on a little: closing on unread bytes resets the connection, and the client would
    never see why it was refused."""
    rest = MAX_DISCARDED_BYTES
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(DISCARD_S):
            while rest > 0:
                message = await receive()
                rest -= len(message.get("body", b""))
                if not message.get("more_body", False):
                    return


def _too_long(most: int, instead: str) -> Refusal:
    return Refusal(
        413,
        f"the body is longer than {most} bytes",
        instead,
        connection="close",
    )
