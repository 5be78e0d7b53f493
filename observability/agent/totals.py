"""Sums that never grow: what the node's metrics and the release's analysis read."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from observability.agent.events import Record
from observability.export.prometheus import labels, metric
from observability.gpu.memory import Memory
from observability.gpu.power import watts

# What a pod writes into its ring is its own business; our memory is not.
_MOST_SCENARIOS = 200
_MOST_HELD = 100_000
_MOST = 1e9
_EVENTS = ("generated", "handed", "delivered", "discarded")
# (lane, scenario, synthetic)
_Key = tuple[str, str, bool]
_Sums = defaultdict[_Key, float]


class Totals:
    """Fed with every record; since the agent's start."""

    def __init__(self) -> None:
        self._requests: _Sums = defaultdict(float)
        self._answered: _Sums = defaultdict(float)
        self._seconds: _Sums = defaultdict(float)
        self._wasted_s: _Sums = defaultdict(float)
        self._tokens: dict[str, _Sums] = {event: defaultdict(float) for event in _EVENTS}
        self._releases: dict[str, str] = {}
        self._memory = Memory(_MOST_HELD)
        self._loss: Record = {}
        self._gpus: dict[int, Record] = {}
        self._wasted_joules: _Sums = defaultdict(float)

    def add(self, records: Iterable[Record]) -> None:
        """Take records of any layer."""
        for record in records:
            match record["layer"]:
                case "ring":
                    self._line(record)
                case "gpu" | "process":
                    self._memory.add(record)
                case "loss":
                    self._loss = record
                case "nvml":
                    self._gpus[record["gpu"]] = record

    def scenarios(self) -> list[dict[str, Any]]:
        """A row for each lane and scenario: its requests, how many of them made tokens, its
        seconds, tokens and the share of them that was thrown away (None without any).

        `release` is what its lane's requests named last: the sums are also of those before."""
        rows = []
        for key in self._requests:
            tokens = {event: int(counter[key]) for event, counter in self._tokens.items()}
            made = tokens["generated"]
            rows.append(
                {
                    "lane": key[0],
                    "intent": key[1],
                    "synthetic": key[2],
                    "release": self._releases.get(key[0], ""),
                    "requests": int(self._requests[key]),
                    "answered": int(self._answered[key]),
                    "seconds": round(self._seconds[key], 3),
                    "discarded_seconds": round(self._wasted_s[key], 3),
                    **tokens,
                    "discarded_share": tokens["discarded"] / made if made else None,
                    "discarded_joules": (
                        round(self._wasted_joules[key], 3) if key in self._wasted_joules else None
                    ),
                }
            )
        return rows

    def gpus(self) -> list[Record]:
        """The last reading of each GPU."""
        return [self._gpus[index] for index in sorted(self._gpus)]

    def metrics(self) -> str:
        """The same, losses, and GPUs in Prometheus's text format."""
        return "\n".join([*self._of_scenarios(), *self._of_node()]) + "\n"

    def _line(self, record: Record) -> None:
        key = _key(record)
        if key not in self._requests and len(self._requests) >= _MOST_SCENARIOS:
            key = ("", "other", False)
        tokens = record.get("tokens")
        tokens = tokens if isinstance(tokens, dict) else {}
        self._requests[key] += 1
        self._releases[key[0]] = str(record.get("release") or "")[:64]
        self._answered[key] += _number(tokens.get("generated")) > 0
        self._seconds[key] += _number(record.get("total_ms")) / 1000
        wasted_s = _number(tokens.get("seconds"))
        self._wasted_s[key] += wasted_s
        for event in _EVENTS:
            self._tokens[event][key] += _number(tokens.get(event))
        if wasted_s and (drawn := watts(self.gpus())) is not None:
            self._wasted_joules[key] += wasted_s * drawn

    def _of_scenarios(self) -> Iterator[str]:
        for name, help_text, sums in (
            ("requests", "Requests.", self._requests),
            ("request_seconds", "Time to answer them.", self._seconds),
            ("discarded_seconds", "Time spent on tokens that nobody read.", self._wasted_s),
            ("discarded_joules", "Energy of it, where known.", self._wasted_joules),
        ):
            yield from metric(name, "counter", help_text, _labelled(sums))
        tokens = (
            value for event, sums in self._tokens.items() for value in _labelled(sums, event=event)
        )
        yield from metric("tokens", "counter", "Tokens by what became of them.", tokens)

    def _of_node(self) -> Iterator[str]:
        for name in ("sent", "read", "lost"):
            value = self._loss.get(name, 0)
            yield from metric(f"events_{name}", "counter", f"Events {name}.", [("", value)])
        held = ((labels(function=name), size) for name, size in self._memory.by_holder())
        yield from metric("gpu_held_bytes", "gauge", "GPU memory that nothing has freed.", held)
        forgotten = [("", self._memory.forgotten)]
        yield from metric(
            "gpu_forgotten_allocations", "counter", "Too many to remember.", forgotten
        )
        for name in sorted({name for record in self._gpus.values() for name in record["fields"]}):
            told = [
                (labels(gpu=str(gpu)), value)
                for gpu, record in self._gpus.items()
                # What a GPU does not tell is no number, and no 0.
                if isinstance(value := record["fields"].get(name), float)
            ]
            if told:
                yield from metric(f"gpu_{name}", "gauge", "As NVML says.", told)


def _labelled(sums: _Sums, **more: str) -> Iterator[tuple[str, float]]:
    for (lane, intent, synthetic), amount in sums.items():
        text = "true" if synthetic else "false"
        yield labels(lane=lane, intent=intent, synthetic=text, **more), amount


def _key(record: Record) -> _Key:
    return (
        str(record.get("lane") or "")[:32],
        str(record.get("intent") or "")[:64],
        record.get("synthetic") is True,
    )


def _number(value: object) -> float:
    """What a pod wrote, if it can be added up: one NaN would make every later sum one."""
    return value if isinstance(value, int | float) and 0 <= value <= _MOST else 0
