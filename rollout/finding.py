"""One thing that is wrong with a candidate's tree."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """`code`: the rule, for programs. `where`, `what`, `remedy`: one line for a person."""

    code: str
    where: str
    what: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}: {self.remedy}"
