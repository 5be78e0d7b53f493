"""A compiled module that writes events down instead of firing probe points."""

from collections import Counter
from collections.abc import Callable
from mmap import mmap
from types import CodeType

HOW = ("return", "yield", "resume", "unwind")


class FakePoints:
    """See Native. `on` is what somebody traces."""

    def __init__(self) -> None:
        self.on = 0
        self.events: list[tuple[str, str, str]] = []
        self.chains: list[str] = []
        self.frames: dict[str, set[int]] = {}
        self._request: Callable[[], bytes] = bytes
        self._watched: dict[int, bytes] = {}

    def counts(self) -> Counter[tuple[str, str]]:
        """How often each (function without its module, event) was there."""
        return Counter((name.rpartition("workload.")[2], what) for _, name, what in self.events)

    def attached(self) -> int:
        return self.on

    def requests_from(self, getter: Callable[[], bytes], /) -> None:
        self._request = getter

    def watch(self, code: CodeType, name: bytes, suspends: bool, /) -> None:
        self._watched[id(code)] = name

    def forget(self) -> None:
        self._watched.clear()

    def on_start(self, code: CodeType, /, *more: object) -> None:
        self._fire(code, "entry")

    def on_return(self, code: CodeType, /, *more: object) -> None:
        self._fire(code, "return")

    def on_yield(self, code: CodeType, /, *more: object) -> None:
        self._fire(code, "yield")

    def on_resume(self, code: CodeType, /, *more: object) -> None:
        self._fire(code, "resume")

    def on_unwind(self, code: CodeType, /, *more: object) -> None:
        self._fire(code, "unwind")

    def entry(self, name: bytes, frame: int, /) -> None:
        self._note(name, "entry")
        self.frames.setdefault(name.decode(), set()).add(frame)

    def leave(self, name: bytes, frame: int, how: int, /) -> None:
        self._note(name, HOW[how])

    def created(self, kind: bytes, number: int, size: int, /) -> None:
        self._note(kind, "create")

    def destroyed(self, kind: bytes, number: int, /) -> None:
        self._note(kind, "destroy")

    def chain(self, kind: bytes, number: int, holders: bytes, /) -> None:
        self.chains.append(holders.decode())

    def token(self, request: bytes, token: int, event: int, outcome: int, /) -> None:
        self.events.append((request.decode(), str(token), f"token {event} {outcome}"))

    def take_number(self, buffer: bytearray | mmap, offset: int, /) -> int:
        raise AssertionError("no ring is written here")

    def _fire(self, code: CodeType, what: str) -> None:
        if id(code) in self._watched:
            self._note(self._watched[id(code)], what)

    def _note(self, name: bytes, what: str) -> None:
        self.events.append((self._request().decode(), name.decode(), what))
