"""Tells when objects of marked types are created and destroyed.

A marked class gets a `__new__` and a `__del__` of ours, which call its own. Subclasses count
too, under their own names, unless they replace one of the two.
"""

import logging
import sys
from collections.abc import Iterable
from typing import Any

from observability.native import Native

log = logging.getLogger(__name__)

_NAMES = ("__new__", "__del__")


class Objects:
    """The marked types of this process."""

    def __init__(self, points: Native) -> None:
        self._points = points
        self._marked: list[tuple[type, dict[str, Any]]] = []
        # Never emptied: a tracer may remember where a name lies.
        self._names: dict[type, bytes] = {}

    def mark(self, names: Iterable[str]) -> None:
        """Mark the classes with these full names, and no others."""
        while self._marked:
            _restore(*self._marked.pop())
        classes = set()
        for name in sorted(set(names)):
            try:
                classes.add(find(name))
            except LookupError as error:
                log.warning("objects of %s cannot be counted: %s", name, error)
        for cls in classes:
            # A marked base counts its subclasses' objects already.
            if not classes.intersection(cls.__mro__[1:]):
                self._mark(cls)

    def _mark(self, cls: type) -> None:
        own = {name: vars(cls)[name] for name in _NAMES if name in vars(cls)}
        make: Any = cls.__new__
        delete = getattr(cls, "__del__", None)
        points, name_of = self._points, self._name

        def __new__(kind: type, /, *args: Any, **kwargs: Any) -> Any:
            made = (_new if make is object.__new__ else make)(kind, *args, **kwargs)
            if type(made) is kind:
                points.created(name_of(kind), id(made), sys.getsizeof(made))
            return made

        def __del__(self: Any) -> None:
            points.destroyed(name_of(type(self)), id(self))
            if delete:
                delete(self)

        try:
            cls.__new__ = __new__  # type: ignore[method-assign]
            cls.__del__ = __del__  # type: ignore[attr-defined]
        except TypeError as error:
            log.warning("objects of %s cannot be counted: %s", cls.__qualname__, error)
        else:
            self._marked.append((cls, own))

    def _name(self, cls: type) -> bytes:
        name = self._names.get(cls)
        if name is None:
            name = self._names[cls] = f"{cls.__module__}.{cls.__qualname__}".encode()
        return name


def find(name: str) -> type:
    """The class of this full name, if its module is imported. Errors: LookupError."""
    module, rest = name, ""
    while module and module not in sys.modules:
        module, _, last = module.rpartition(".")
        rest = f"{last}.{rest}" if rest else last
    found: Any = sys.modules.get(module)
    for part in rest.split("."):
        found = getattr(found, part, None)
    if not isinstance(found, type):
        raise LookupError("there is no such class in the modules that are imported")
    return found


def _new(kind: type, /, *args: Any, **kwargs: Any) -> Any:
    """What `object.__new__` does for a class that has no `__new__`."""
    start: Any = getattr(kind, "__init__")  # noqa: B009 - what mypy cannot know is sound
    if (args or kwargs) and start is object.__init__:
        raise TypeError(f"{kind.__name__}() takes no arguments")
    return object.__new__(kind)


def _restore(cls: type, own: dict[str, Any]) -> None:
    for name in _NAMES:
        if name in own:
            setattr(cls, name, own[name])
        else:
            delattr(cls, name)
    make: Any = cls.__new__
    if make is object.__new__:
        # Python does not go back to object's own way by itself, and then refuses arguments.
        cls.__new__ = _new  # type: ignore[method-assign]
