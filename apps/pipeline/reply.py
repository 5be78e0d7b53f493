"""What `assistant` gives the gateway for one message, as JSON."""

from dataclasses import asdict, dataclass, field
from typing import Any

from apps.pipeline.citation import Citation


@dataclass(frozen=True)
class Fact:
    """One value from the customer's own records, as to be shown.

    `reference` ("3.9–6.1") and `flag` ("low", "normal", "high") are for laboratory values.
    """

    name: str
    label: str
    value: str
    unit: str = ""
    reference: str = ""
    flag: str = ""

    def json(self) -> dict[str, str]:
        """The fields that say something; `unit` always."""
        return {key: value for key, value in asdict(self).items() if value or key == "unit"}


@dataclass
class Reply:
    """The answer to one message; `text` alone is a complete answer."""

    intent: str = "other"
    confidence: float = 0.0
    language: str = "en"
    status: str = "ok"
    reason: str | None = None
    text: str = ""
    facts: list[Fact] = field(default_factory=list)
    citations: list[Citation] = field(default_factory=list)
    prompt: str | None = None
    omitted: list[dict[str, str]] = field(default_factory=list)
    ticket: dict[str, Any] | None = None
    stages_ms: dict[str, float] = field(default_factory=dict)

    def omit(self, what: str, why: str) -> None:
        """Say that something is not in the answer."""
        self.omitted.append({"what": what, "why": why})

    def degrade(self, reason: str) -> None:
        """Say why this is less than the customer should have got."""
        self.status, self.reason = "degraded", reason

    def json(self) -> dict[str, Any]:
        """The object for `result`."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {
            **fields,
            "facts": [fact.json() for fact in self.facts],
            "citations": [citation.json() for citation in self.citations],
        }
