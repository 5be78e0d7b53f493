"""Which request is being served: one context variable, seen from coroutines and threads alike."""

from collections.abc import Callable, Iterable
from contextvars import ContextVar, Token
from types import TracebackType

MAX_BYTES = 63
SHARED = "shared"
"""The name of work that is done for several requests at once."""

REQUEST_ID: ContextVar[bytes] = ContextVar("switchyard_request_id", default=b"")
"""The id of the request that this context works for, or empty."""


def _nothing() -> None:
    """Nobody watches."""


_look: Callable[[], None] = _nothing


def watch(look: Callable[[], None]) -> None:
    """Call `look` at the beginning of each request from now on."""
    global _look
    _look = look


def id_of(name: str) -> bytes:
    """The id that tracers see for the request `name`: cut to MAX_BYTES, without NUL."""
    return name.encode("utf-8", "replace")[:MAX_BYTES].replace(b"\0", b"?")


class begin:
    """While open, this context works for the request `name`."""

    __slots__ = ("_name", "_token")

    def __init__(self, name: str) -> None:
        self._name = id_of(name)

    def __enter__(self) -> None:
        self._token: Token[bytes] = REQUEST_ID.set(self._name)
        _look()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        REQUEST_ID.reset(self._token)


def begin_all(names: Iterable[str]) -> begin:
    """While open, this context works for all these requests: for the one, if they are one, or
    for SHARED. For none it works for nobody."""
    different = set(names)
    return begin(SHARED if len(different) > 1 else next(iter(different), ""))
