"""Python 3.11: while a function is traced, its code is exchanged for one that wraps the old.

The function itself stays the same object, so whoever imported, bound or registered it
before calls the wrapper as well; and while nobody traces, it is what it always was.
"""

import inspect
import weakref
from dataclasses import dataclass
from types import CodeType, FunctionType

from observability.native import Native
from observability.probes import templates
from observability.probes.driver import Wanted
from observability.probes.functions import is_plain_def, name_of

_KINDS = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


@dataclass(slots=True)
class _Known:
    """A function, and while it is traced its own code and the code that it has instead."""

    function: "weakref.ref[FunctionType]"
    before: CodeType | None = None
    during: CodeType | None = None


class Wrappers:
    """See Driver."""

    def __init__(self, points: Native) -> None:
        self._points = points
        # By address, and copied in one step: other threads define functions all the time.
        self._known: dict[int, _Known] = {}
        self._names: dict[str, bytes] = {}
        self._wanted: Wanted | None = None

    def adopt(self, function: FunctionType) -> FunctionType:
        key = id(function)
        known = _Known(weakref.ref(function, lambda _: self._known.pop(key, None)))
        self._known[key] = known
        self._wrap_if_wanted(known)
        return function

    def adopt_code(self, module: str, code: CodeType) -> None:
        """The functions come one by one, when their `def` is run."""

    def on(self, wanted: Wanted) -> None:
        self.off()
        self._wanted = wanted
        for known in list(self._known.values()):
            self._wrap_if_wanted(known)

    def off(self) -> None:
        self._wanted = None
        for known in list(self._known.values()):
            function = known.function()
            # Somebody else may have exchanged it meanwhile: then it is theirs.
            if function and known.before and function.__code__ is known.during:
                function.__code__ = known.before
            known.before = known.during = None

    def _wrap_if_wanted(self, known: _Known) -> None:
        function, wanted = known.function(), self._wanted
        if function is None or wanted is None or known.during:
            return
        before = function.__code__
        name = name_of(function.__module__, before)
        if is_plain_def(before) and wanted(name):
            kept = self._names.setdefault(name, name.encode())
            known.during = _wrapping(function, templates.sites(self._points, kept))
            known.before = before
            function.__code__ = known.during


def _wrapping(function: FunctionType, sites: templates.Sites) -> CodeType:
    """The code of the template for this kind of function, calling its old code."""
    code = function.__code__
    inner = FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    inner.__kwdefaults__ = function.__kwdefaults__
    inner.__qualname__ = function.__qualname__
    template, site = sites[code.co_flags & _KINDS]
    return template.replace(
        co_consts=tuple(
            (inner, *site) if constant == templates.SITE else constant
            for constant in template.co_consts
        ),
        co_freevars=code.co_freevars,
        co_flags=template.co_flags | code.co_flags & inspect.CO_ITERABLE_COROUTINE,
        co_filename=code.co_filename,
        co_firstlineno=code.co_firstlineno,
        co_name=code.co_name,
        co_qualname=code.co_qualname,
    )
