"""Every kind of function, called a known number of times. Nothing else may be traced here."""

import asyncio
import contextlib
import functools
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass


def leaf(value: int) -> int:
    return value


def fails() -> None:
    raise ValueError("known")


def descend(depth: int) -> int:
    return depth and descend(depth - 1)


def nested() -> Callable[[], int]:
    def inner() -> int:
        return 1

    return inner


def generator(count: int) -> Iterator[int]:
    yield from range(count)


async def coroutine(steps: int) -> int:
    for _ in range(steps):
        await asyncio.sleep(0)
    return steps


async def asynchronous(count: int) -> AsyncIterator[int]:
    for number in range(count):
        await asyncio.sleep(0)
        yield number


@contextlib.contextmanager
def managed() -> Iterator[None]:
    yield


class Kind:
    def method(self) -> int:
        return 1

    @staticmethod
    def static() -> int:
        return 1

    @classmethod
    def of_class(cls) -> int:
        return 1

    @property
    def property(self) -> int:
        return 1

    @functools.cached_property
    def cached(self) -> int:
        return 1


@dataclass
class Made:
    """Its `__init__` is nobody's `def`."""

    value: int


table = {"leaf": leaf}
bound = Kind().method


def calls() -> None:
    """Plain functions."""
    for number in range(23):
        leaf(number)
    table["leaf"](1)
    bound()
    descend(4)
    for _ in range(3):
        with contextlib.suppress(ValueError):
            fails()
    one = Kind()
    sum([one.method(), Kind.static(), Kind.of_class(), one.property, one.cached, one.cached])
    for _ in range(5):
        nested()()
    Made(1)


def pauses() -> None:
    """Generators: one to its end, one closed early, one used as a context."""
    list(generator(4))
    early = generator(4)
    next(early)
    early.close()  # type: ignore[attr-defined]
    with managed():
        pass


async def awaits() -> None:
    """Coroutines and async generators, to their ends, left early and cancelled."""
    for _ in range(7):
        await coroutine(2)
    async for _ in asynchronous(3):
        pass
    early = asynchronous(3)
    async for _ in early:
        break
    await early.aclose()  # type: ignore[attr-defined]
    task = asyncio.create_task(coroutine(1000))
    await asyncio.sleep(0)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


async def elsewhere() -> None:
    """In other threads."""
    await asyncio.gather(*(asyncio.to_thread(leaf, number) for number in range(5)))
    await asyncio.get_running_loop().run_in_executor(None, leaf, 1)
    thread = threading.Thread(target=leaf, args=(1,))
    thread.start()
    thread.join()
