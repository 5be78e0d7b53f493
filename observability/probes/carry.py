"""While tracing is on, a thread or an executor's task works for the request that started it."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import Any

_submit = ThreadPoolExecutor.submit
_start = threading.Thread.start


def on() -> None:
    """Carry contexts from now on."""
    ThreadPoolExecutor.submit = _carrying_submit  # type: ignore[method-assign, assignment]
    threading.Thread.start = _carrying_start  # type: ignore[method-assign]


def off() -> None:
    """Leave threads as Python makes them."""
    ThreadPoolExecutor.submit = _submit  # type: ignore[method-assign]
    threading.Thread.start = _start  # type: ignore[method-assign]


def _carrying_submit(
    self: ThreadPoolExecutor, fn: Callable[..., Any], /, *args: Any, **kwargs: Any
) -> Future[Any]:
    return _submit(self, copy_context().run, fn, *args, **kwargs)


def _carrying_start(self: threading.Thread) -> None:
    context, run = copy_context(), self.run

    def carried() -> None:
        # Not kept: the thread object outlives its run.
        del self.run
        context.run(run)

    self.run = carried  # type: ignore[method-assign]
    _start(self)
