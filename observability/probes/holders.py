"""What keeps an object alive: the shortest chain of references from it to a root.

One look at the whole heap for each link, which holds up the process: asked for, never by itself.
"""

import gc
import logging
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType, ModuleType
from typing import Any

from observability.native import Native
from observability.probes.objects import find

log = logging.getLogger(__name__)

MOST_LINKS = 12
MOST_OBJECTS = 3

_names: dict[str, bytes] = {}
"""Never emptied: a tracer may remember where a name lies."""


@dataclass(frozen=True, slots=True)
class _Held:
    """`what` is held by somebody: how, in words, and by whom next."""

    what: Any
    how: str
    held: "_Held | None"


def tell(points: Native, kind: str) -> None:
    """Fire object_chain for the first living objects of the class with this full name."""
    try:
        cls = find(kind)
    except LookupError as error:
        log.warning("what holds %s cannot be said: %s", kind, error)
        return
    name = _names.setdefault(kind, kind.encode())
    for thing in [thing for thing in gc.get_objects() if type(thing) is cls][:MOST_OBJECTS]:
        points.chain(name, id(thing), chain(thing).encode("utf-8", "replace"))


def chain(thing: Any) -> str:
    """As "Running <- set <- dict['s1'] <- Stops._running <- module m", from `thing` to a root."""
    seen = {id(thing)}
    level = [_Held(thing, type(thing).__name__, None)]
    for _ in range(MOST_LINKS):
        above: list[_Held] = []
        for held in _holders(level):
            if id(held.what) not in seen:
                seen.add(id(held.what))
                above.append(held)
                if isinstance(held.what, FrameType | ModuleType):
                    return _text(held)
        if not above:
            return f"{_text(level[0])} <- nothing that Python can see"
        level = above
    return f"{_text(level[0])} <- more than {MOST_LINKS} references away from a root"


def _holders(level: list[_Held]) -> Iterator[_Held]:
    by_id = {id(held.what): held for held in level}
    for frame in _running():
        for name, value in frame.f_locals.items():
            if id(value) in by_id:
                how = f"local {name} of {frame.f_code.co_qualname}()"
                yield _Held(frame, how, by_id[id(value)])
    things = [held.what for held in level]
    ours = {id(by_id), id(things), id(level), *map(id, level)}
    for holder in gc.get_referrers(*things):
        if id(holder) in ours or isinstance(holder, FrameType | _Held):
            continue
        child = next((c for c in gc.get_referents(holder) if id(c) in by_id), None)
        if child is not None:
            yield _Held(*_named(holder, child), by_id[id(child)])


def _running() -> Iterator[FrameType]:
    """The frames that run now, but for our own: the collector does not know them."""
    for top in sys._current_frames().values():
        frame: FrameType | None = top
        while frame:
            if frame.f_globals is not globals():
                yield frame
            frame = frame.f_back


def _named(holder: Any, child: Any) -> tuple[Any, str]:
    """The holder, or the module whose names it is, and how it holds `child`."""
    kind = type(holder)
    if kind is dict:
        key = next((key for key, value in holder.items() if value is child), None)
        module = sys.modules.get(str(holder.get("__name__")))
        if module is not None and vars(module) is holder:
            return module, f"{holder['__name__']}.{key}"
        return holder, f"dict[{key!r:.60}]"
    if kind in (list, tuple):
        at = next((at for at, value in enumerate(holder) if value is child), -1)
        return holder, f"{kind.__name__}[{at}]"
    name = next((name for name in _attributes(holder) if _attribute(holder, name) is child), "")
    return holder, f"{kind.__name__}.{name}" if name else kind.__name__


def _attributes(holder: Any) -> Iterator[str]:
    yield from getattr(holder, "__dict__", ())
    for cls in type(holder).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        yield from (slots,) if isinstance(slots, str) else slots
    yield "__dict__"


def _attribute(holder: Any, name: str) -> Any:
    try:
        return object.__getattribute__(holder, name)
    except (AttributeError, TypeError):
        return None


def _text(held: _Held | None) -> str:
    parts = []
    while held:
        parts.append(held.how)
        held = held.held
    return " <- ".join(reversed(parts))
