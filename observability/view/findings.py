"""What stands out: a scenario that uses far more of something than the others do."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from observability.session.session import Request
from observability.view.resources import HELD, RESOURCES, Resource

# How many times the other scenarios' mean a request must use to stand out.
_FAR_MORE = 3
_LEAST = {"ns": 1_000_000, "bytes": 4096, "tokens": 1}


@dataclass(frozen=True, slots=True)
class Finding:
    """`scenario` uses `each` of a resource a request, the others `others`; `function` uses most
    of it."""

    resource: str
    scenario: str
    each: float
    others: float
    function: str


def uses(request: Request) -> list[int]:
    """How much of each resource a request used; of GPU memory, what it has not given back."""
    return [
        request.memory.bytes
        if resource.key == HELD
        else sum(amount for _, _, amount in resource.uses(request))
        for resource in RESOURCES
    ]


def findings(requests: Sequence[Request], used: Mapping[str, Sequence[int]]) -> list[Finding]:
    """What stands out, in the order of the resources; `used` has each request's `uses`."""
    by_scenario: dict[str, list[Request]] = {}
    for request in requests:
        if request.records:
            by_scenario.setdefault(request.intent, []).append(request)
    found = []
    for number, resource in enumerate(RESOURCES):
        for scenario, own in by_scenario.items():
            rest = [r for name, rs in by_scenario.items() if name != scenario for r in rs]
            each = _mean(used[request.id][number] for request in own)
            others = _mean(used[request.id][number] for request in rest)
            if rest and each >= _LEAST[resource.unit] and each > _FAR_MORE * others:
                function = _most(own, resource)
                found.append(Finding(resource.key, scenario, each, others, function))
    return found


def _mean(amounts: Iterable[int]) -> float:
    known = list(amounts)
    return sum(known) / len(known) if known else 0.0


def _most(requests: Iterable[Request], resource: Resource) -> str:
    by_function: Counter[str] = Counter()
    for request in requests:
        if resource.key == HELD:
            by_function.update(dict(request.memory.by_holder()))
        for span in request.spans:
            by_function[span.function] += resource.of(span)
    return by_function.most_common(1)[0][0] if by_function else ""
