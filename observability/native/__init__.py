"""The compiled part: probe points and a counter that processes share.

`load()` gives the module `_native`; `python -m observability.native` compiles it.
"""

import logging
from collections.abc import Callable
from functools import cache
from mmap import mmap
from pathlib import Path
from types import CodeType
from typing import Protocol, cast

from observability.extension import Extension, ExtensionMissing

RETURNED, YIELDED, RESUMED, UNWOUND = range(4)
"""How control leaves a frame, or comes back to it."""

GENERATED, HANDED, DELIVERED, DISCARDED, RECEIVED = range(5)
"""What happens to a token. The model says GENERATED; whoever serves it, the others."""

FUNCTIONS, OBJECTS, CHAINS, TOKENS = 1, 2, 4, 8
"""The bits of `Native.attached`."""


class Native(Protocol):
    """What the compiled module offers. Names are bytes that the caller keeps alive for as
    long as the process: a tracer may remember where they are."""

    def attached(self) -> int:
        """What somebody traces now."""

    def requests_from(self, getter: Callable[[], bytes], /) -> None:
        """Where the current request's id comes from."""

    def watch(self, code: CodeType, name: bytes, suspends: bool, /) -> None:
        """Let the callbacks below fire for `code`; `suspends` for generators and coroutines."""

    def forget(self) -> None:
        """Watch no code."""

    def on_start(self, code: CodeType, /, *more: object) -> None:
        """A callback of sys.monitoring, as the next four."""

    def on_return(self, code: CodeType, /, *more: object) -> None: ...

    def on_yield(self, code: CodeType, /, *more: object) -> None: ...

    def on_resume(self, code: CodeType, /, *more: object) -> None: ...

    def on_unwind(self, code: CodeType, /, *more: object) -> None: ...

    def entry(self, name: bytes, frame: int, /) -> None:
        """Fire function_entry."""

    def leave(self, name: bytes, frame: int, how: int, /) -> None:
        """Fire function_return."""

    def created(self, kind: bytes, number: int, size: int, /) -> None:
        """Fire object_create."""

    def destroyed(self, kind: bytes, number: int, /) -> None:
        """Fire object_destroy."""

    def chain(self, kind: bytes, number: int, holders: bytes, /) -> None:
        """Fire object_chain."""

    def token(self, request: bytes, token: int, event: int, outcome: int, /) -> None:
        """Fire token."""

    def take_number(self, buffer: bytearray | mmap, offset: int, /) -> int:
        """Add 1 to the 8 aligned bytes at `offset`, for all processes that have them mapped;
        gives what was there before. Errors: ValueError if they are not there or not aligned."""


log = logging.getLogger(__name__)


MODULE = Path(__file__).with_name("_native.abi3.so")
EXTENSION = Extension(
    package=__name__,
    folder=MODULE.parent,
    module=MODULE,
    # An `endbr64` before a probe's first instruction would make it a hundred times as slow.
    flags=("-fcf-protection=none",),
)


@cache
def load() -> Native:
    """The module. Errors: `ExtensionMissing` with the command that builds it."""
    return cast(Native, EXTENSION.load())


def available() -> Native | None:
    """The module, or None with a warning: who serves customers goes on without it."""
    try:
        return load()
    except (ExtensionMissing, ImportError) as error:
        log.warning("this process cannot be traced: %s", error)
        return None
