"""Python 3.12 and later: events of `sys.monitoring`, set on the wanted code objects alone."""

import sys
from types import CodeType, FunctionType
from typing import Any

from observability.native import Native
from observability.probes.driver import Wanted
from observability.probes.functions import SUSPENDS, code_within, is_plain_def, name_of

# None before 3.12, where this can be imported and not used.
monitoring: Any = getattr(sys, "monitoring", None)

_TOOL = "switchyard"


class ToolsTaken(Exception):
    """Every free tool id of `sys.monitoring` is in use."""


class Monitoring:
    """See Driver. A function that nobody wants runs the code that it always ran."""

    def __init__(self, points: Native) -> None:
        self._points = points
        # By address: equal code in two modules is two functions.
        self._known: dict[int, tuple[CodeType, bytes]] = {}
        self._tool: int | None = None
        self._traced: list[CodeType] = []
        self._wanted: Wanted | None = None

    def adopt(self, function: FunctionType) -> FunctionType:
        self.adopt_code(function.__module__, function.__code__)
        return function

    def adopt_code(self, module: str, code: CodeType) -> None:
        for part in code_within(code):
            if is_plain_def(part) and id(part) not in self._known:
                name = name_of(module, part).encode()
                self._known[id(part)] = (part, name)
                self._trace_if_wanted(part, name)

    def on(self, wanted: Wanted) -> None:
        self.off()
        self._begin()
        self._wanted = wanted
        for code, name in list(self._known.values()):
            self._trace_if_wanted(code, name)

    def off(self) -> None:
        if self._tool is None:
            return
        monitoring.set_events(self._tool, 0)
        for code in self._traced:
            monitoring.set_local_events(self._tool, code, 0)
        for event in self._callbacks():
            monitoring.register_callback(self._tool, event, None)
        monitoring.free_tool_id(self._tool)
        self._points.forget()
        self._traced, self._tool, self._wanted = [], None, None

    def _begin(self) -> None:
        free = [tool for tool in (4, 3) if monitoring.get_tool(tool) is None]
        if not free:
            raise ToolsTaken("sys.monitoring has no free tool id; end the other tracer first")
        self._tool = free[0]
        monitoring.use_tool_id(self._tool, _TOOL)
        for event, callback in self._callbacks().items():
            monitoring.register_callback(self._tool, event, callback)
        # These two cannot be set on a code object; the callback knows what it watches.
        events = monitoring.events
        monitoring.set_events(self._tool, events.PY_UNWIND | events.PY_THROW)

    def _trace_if_wanted(self, code: CodeType, name: bytes) -> None:
        if self._tool is None or self._wanted is None or not self._wanted(name.decode()):
            return
        suspends = bool(code.co_flags & SUSPENDS)
        self._points.watch(code, name, suspends)
        events = monitoring.events
        wanted = events.PY_START | events.PY_RETURN
        if suspends:
            wanted |= events.PY_YIELD | events.PY_RESUME
        monitoring.set_local_events(self._tool, code, wanted)
        self._traced.append(code)

    def _callbacks(self) -> dict[int, object]:
        events, points = monitoring.events, self._points
        return {
            events.PY_START: points.on_start,
            events.PY_RETURN: points.on_return,
            events.PY_YIELD: points.on_yield,
            events.PY_RESUME: points.on_resume,
            events.PY_THROW: points.on_resume,
            events.PY_UNWIND: points.on_unwind,
        }
