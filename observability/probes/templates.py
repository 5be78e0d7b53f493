"""The code that wraps a function while it is traced, one template for each kind.

A template has no globals of its own (it runs with the function's): all that it needs comes
from the constant SITE, in whose place each function gets the tuple that is unpacked here.
"""

import inspect
import types
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator
from functools import partial
from types import CodeType
from typing import Any, no_type_check

from observability.native import RESUMED, RETURNED, UNWOUND, YIELDED, Native

SITE = "the site"

Site = tuple[Any, ...]
Sites = dict[int, tuple[CodeType, Site]]


def sites(points: Native, name: bytes) -> Sites:
    """For each kind (a flag of code objects, or 0): the template, and what follows the
    wrapped function in its SITE."""
    plain = (points.entry, points.leave, name, BaseException)
    steps = partial(_steps, points, name)
    stepping = partial(_step, points, name)
    return {
        0: (_plain.__code__, plain),
        inspect.CO_COROUTINE: (_coroutine.__code__, (steps,)),
        inspect.CO_GENERATOR: (_generator.__code__, (steps,)),
        inspect.CO_ASYNC_GENERATOR: (
            _async_generator.__code__,
            (stepping, GeneratorExit, BaseException, StopAsyncIteration),
        ),
    }


@no_type_check
def _plain(*args, **kwargs):
    inner, entry, leave, name, any_error = "the site"
    entry(name, 0)
    try:
        result = inner(*args, **kwargs)
    except any_error:
        leave(name, 0, 3)
        raise
    leave(name, 0, 0)
    return result


@no_type_check
async def _coroutine(*args, **kwargs):
    inner, steps = "the site"
    return await steps(inner(*args, **kwargs))


@no_type_check
def _generator(*args, **kwargs):
    inner, steps = "the site"
    return (yield from steps(inner(*args, **kwargs)))


@no_type_check
async def _async_generator(*args, **kwargs):
    inner, step, closing, any_error, over = "the site"
    wrapped = inner(*args, **kwargs)
    try:
        value = await step(wrapped, wrapped.__anext__(), True, False)
        while True:
            try:
                sent = yield value
            except closing:
                await step(wrapped, wrapped.aclose(), False, True)
                raise
            except any_error as error:
                value = await step(wrapped, wrapped.athrow(error), False, False)
            else:
                value = await step(wrapped, wrapped.asend(sent), False, False)
    except over:
        return


@types.coroutine
def _steps(
    points: Native, name: bytes, wrapped: Generator[Any, Any, Any] | Coroutine[Any, Any, Any]
) -> Generator[Any, Any, Any]:
    """Run a generator or coroutine and tell each time when it leaves and comes back."""
    frame = id(wrapped)
    points.entry(name, frame)
    go: Callable[[Any], Any] = wrapped.send
    value: Any = None
    while True:
        try:
            out = go(value)
        except StopIteration as stop:
            points.leave(name, frame, RETURNED)
            return stop.value
        except BaseException:
            points.leave(name, frame, UNWOUND)
            raise
        points.leave(name, frame, YIELDED)
        try:
            go, value = wrapped.send, (yield out)
        except BaseException as error:
            go, value = wrapped.throw, error
        points.leave(name, frame, RESUMED)


@types.coroutine
def _step(
    points: Native,
    name: bytes,
    wrapped: AsyncGenerator[Any, Any],
    awaitable: Awaitable[Any],
    first: bool,
    closing: bool,
) -> Generator[Any, Any, Any]:
    """Run an async generator up to its next value, or to its end."""
    frame = id(wrapped)
    if first:
        points.entry(name, frame)
    else:
        points.leave(name, frame, RESUMED)
    step: Any = awaitable.__await__()
    go: Callable[[Any], Any] = step.send
    value: Any = None
    while True:
        try:
            out = go(value)
        except StopIteration as stop:
            points.leave(name, frame, UNWOUND if closing else YIELDED)
            return stop.value
        except StopAsyncIteration:
            points.leave(name, frame, RETURNED)
            raise
        except BaseException:
            points.leave(name, frame, UNWOUND)
            raise
        points.leave(name, frame, YIELDED)
        try:
            go, value = step.send, (yield out)
        except BaseException as error:
            go, value = step.throw, error
        points.leave(name, frame, RESUMED)
