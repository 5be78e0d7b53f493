"""Classes of every shape, to be marked."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import ClassVar


class Plain:
    """No `__init__`, no `__new__`."""


class Slotted:
    __slots__ = ("value",)

    def __init__(self, value: int) -> None:
        self.value = value


@dataclass(frozen=True, slots=True)
class Frozen:
    value: int


class Singleton:
    one: Singleton | None = None

    def __new__(cls) -> Singleton:
        if cls.one is None:
            cls.one = super().__new__(cls)
        return cls.one


class Farewell:
    said: ClassVar[list[str]] = []

    def __del__(self) -> None:
        self.said.append("own")


class Child(Slotted):
    """Counts under its own name."""


class Holder:
    def __init__(self) -> None:
        self.kept: dict[str, list[Slotted]] = {}


holder = Holder()


def copied(count: int) -> None:
    for number in range(count):
        copy.copy(Slotted(number))
