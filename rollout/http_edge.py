"""The HTTP edge of the examination: one POST whose reply streams."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Protocol

import urllib3


class ChatFailed(Exception):
    """A question that got no usable reply; one line with the reason."""


@dataclass(frozen=True)
class HttpReply:
    """Status code and the body's chunks as they arrive."""

    status: int
    chunks: Iterable[bytes]


class Http(Protocol):
    """The edge that a runner needs: one POST whose reply streams."""

    def post(
        self, url: str, headers: Mapping[str, str], body: bytes, timeout_s: float
    ) -> AbstractContextManager[HttpReply]:
        """Open the reply; leaving the context closes it. Raises ChatFailed."""


class UrllibHttp:
    """The real edge: keeps connections, never retries, follows no redirect."""

    def __init__(self, connections: int = 8) -> None:
        self._pool = urllib3.PoolManager(maxsize=connections, retries=False)

    @contextmanager
    def post(
        self, url: str, headers: Mapping[str, str], body: bytes, timeout_s: float
    ) -> Iterator[HttpReply]:
        try:
            reply = self._pool.request(
                "POST",
                url,
                headers=headers,
                body=body,
                timeout=urllib3.Timeout(connect=min(timeout_s, 5.0), read=timeout_s),
                preload_content=False,
                redirect=False,
            )
        except urllib3.exceptions.HTTPError as error:
            raise ChatFailed(f"{url}: {_reason(error)}") from None
        complete = False
        try:
            yield HttpReply(reply.status, reply.stream(65536))
            reply.drain_conn()
            complete = True
        except urllib3.exceptions.HTTPError as error:
            raise ChatFailed(f"{url}: the reply broke off: {_reason(error)}") from None
        finally:
            if complete:
                reply.release_conn()
            else:
                reply.close()


def _reason(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
