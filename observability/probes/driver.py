"""What makes functions fire the probe points; one driver for each way of Python's."""

from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Protocol

Wanted = Callable[[str], bool]
"""Whether the function of this full name is to be traced."""


class Driver(Protocol):
    """Knows functions, and traces those that are wanted while it is on."""

    def adopt(self, function: FunctionType) -> FunctionType:
        """Know a function; gives it back."""

    def adopt_code(self, module: str, code: CodeType) -> None:
        """Know the functions in a module's code that is about to run."""

    def on(self, wanted: Wanted) -> None:
        """Trace what is wanted, and nothing else, from now on."""

    def off(self) -> None:
        """Trace nothing; the functions are as they were."""
