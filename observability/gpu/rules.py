"""Rules that turn counters into findings; the rules themselves are text, in rules.toml."""

import operator
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from observability.bpf.errors import TraceError
from observability.gpu.nvml import Value

RULES = Path(__file__).with_name("rules.toml")
_CONDITION = re.compile(r"\s*([a-z_]+)\s*(<=|>=|<|>)\s*(\d+(?:\.\d+)?)\s*")
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True, slots=True)
class Condition:
    """`field` compared with a number."""

    field: str
    sign: str
    limit: float


@dataclass(frozen=True, slots=True)
class Rule:
    """What is wrong when all conditions hold, and what to do."""

    name: str
    when: tuple[Condition, ...]
    do: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that fits, with the values that made it fit."""

    name: str
    evidence: dict[str, float]
    do: str

    def __str__(self) -> str:
        values = ", ".join(f"{key} {value:.4g}" for key, value in self.evidence.items())
        return f"{self.name} ({values}): {self.do}"


def load(path: Path = RULES) -> list[Rule]:
    """The rules of a file. Errors: `TraceError` with the rule that is not one."""
    try:
        entries = tomllib.loads(path.read_text()).get("rule", [])
        return [_rule(path, entry) for entry in entries]
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise TraceError(f"cannot read the rules in {path}: {error}") from None


def findings(rules: Iterable[Rule], values: Mapping[str, Value]) -> list[Finding]:
    """The rules that fit these fields of a GPU. A rule about a field that the GPU does not tell
    fits never."""
    known = {key: value for key, value in derived(values).items() if isinstance(value, float)}
    return [
        Finding(rule.name, {c.field: known[c.field] for c in rule.when}, rule.do)
        for rule in rules
        if all(c.field in known and _COMPARE[c.sign](known[c.field], c.limit) for c in rule.when)
    ]


def derived(values: Mapping[str, Value]) -> dict[str, Value]:
    """The fields, and the shares that follow from two of them."""
    return {
        **values,
        "memory_percent": None if (share := memory_share(values)) is None else 100 * share,
        "refused_of_free_percent": _percent(values, "refused_bytes", "memory_free_bytes"),
        "power_percent": _percent(values, "power_w", "power_limit_w"),
        "clock_percent": _percent(values, "clock_mhz", "clock_limit_mhz"),
    }


def memory_share(values: Mapping[str, Value]) -> float | None:
    """How full the memory is that programs can have: the driver's own part is not theirs."""
    used, total = values.get("memory_used_bytes"), values.get("memory_total_bytes")
    reserved = values.get("memory_reserved_bytes") or 0.0
    if isinstance(used, float) and isinstance(total, float) and isinstance(reserved, float):
        return used / (total - reserved) if total > reserved else None
    return None


def _percent(values: Mapping[str, Value], part: str, whole: str) -> float | None:
    a, b = values.get(part), values.get(whole)
    return 100 * a / b if isinstance(a, float) and isinstance(b, float) and b else None


def _rule(path: Path, entry: object) -> Rule:
    if not isinstance(entry, dict) or not {"name", "when", "do"} <= entry.keys():
        raise TraceError(f"{path}: a rule has `name`, `when` and `do`, and this has not: {entry}")
    conditions = []
    for text in entry["when"]:
        match = _CONDITION.fullmatch(str(text))
        if not match:
            raise TraceError(
                f"{path}: rule {entry['name']!r}: {text!r} is not `field < number` (or >, <=, >=)"
            )
        conditions.append(Condition(match[1], match[2], float(match[3])))
    if not conditions:
        raise TraceError(f"{path}: rule {entry['name']!r} has no condition")
    return Rule(str(entry["name"]), tuple(conditions), str(entry["do"]))
