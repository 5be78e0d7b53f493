"""Which functions have probes: those written with `def` in the listed packages."""

import gc
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType, FunctionType

SUSPENDS = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


@dataclass(frozen=True)
class Packages:
    """Names of packages and modules; a package stands for everything in it but what is in
    `without`."""

    names: tuple[str, ...]
    without: tuple[str, ...] = ()

    @classmethod
    def read(cls, text: str) -> "Packages":
        """From a comma-separated list, where `-` before a name leaves it out."""
        names = [name for part in text.split(",") if (name := part.strip())]
        return cls(
            tuple(name for name in names if not name.startswith("-")),
            tuple(name[1:].strip() for name in names if name.startswith("-")),
        )

    def __bool__(self) -> bool:
        return bool(self.names)

    def __contains__(self, module: object) -> bool:
        return (
            isinstance(module, str)
            and _is_in(module, self.names)
            and not _is_in(module, self.without)
        )


def _is_in(module: str, names: tuple[str, ...]) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in names)


def name_of(module: str, code: CodeType) -> str:
    """As `apps.gateway.chat.Chat._reply`."""
    return f"{module}.{code.co_qualname}"


def is_plain_def(code: CodeType) -> bool:
    """Whether `code` is a function's body that somebody wrote as `def`."""
    return (
        bool(code.co_flags & inspect.CO_OPTIMIZED)
        and not code.co_name.startswith("<")
        and not code.co_filename.startswith("<")
    )


def code_within(code: CodeType) -> Iterator[CodeType]:
    """`code` and all code that stands in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from code_within(constant)


def living(packages: Packages) -> list[FunctionType]:
    """The functions of `packages` that exist already."""
    return [
        thing
        for thing in gc.get_objects()
        if type(thing) is FunctionType
        and thing.__globals__.get("__name__") in packages
        and is_plain_def(thing.__code__)
    ]
