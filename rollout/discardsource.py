"""The tracing agents' /scenarios, gathered pod by pod: how much the lanes' sums grew.

An agent is an observer. That none is installed, or that one does not answer, is said once and
stops nothing.
"""

from __future__ import annotations

import json
import logging
import re
import threading
from collections import defaultdict, deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from rollout.cluster import Api, Object, core
from rollout.discards import Discards
from rollout.errors import ApiError, RolloutError
from rollout.names import LANES, Names
from rollout.samples import Get, SamplesUnreadable, urllib_get

KEPT_S = 3600.0
MAX_AGENTS = 500
MAX_ROWS = 1000
# Rows of all rounds: an agent may name other scenarios each time.
MAX_KEPT = 100_000
AT_ONCE = 8
# A scenario's name is whatever a pod wrote into its ring.
_SCENARIO = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_LARGEST = 10**15

Key = tuple[str, str]
"""Lane and scenario."""
Sums = dict[Key, Discards]

log = logging.getLogger("rollout")


@dataclass
class DiscardSource:
    """Growth of the agents' sums. `poll` asks them all; `said` is why something is missing."""

    api: Api
    names: Names
    get: Get = urllib_get
    said: str = "no tracing agent was asked yet"
    _known: dict[str, Sums] = field(default_factory=dict)
    _asked: float = 0.0
    _grown: deque[tuple[float, Sums]] = field(default_factory=deque)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def poll(self, now: float) -> None:
        """Ask every agent once, at the time `now` (unix seconds). Never raises RolloutError."""
        try:
            agents = self._agents()
        except RolloutError as error:
            absent = isinstance(error, ApiError) and error.status in (403, 404)
            self._say("no tracing is installed" if absent else f"the agents are not found: {error}")
            return
        with ThreadPoolExecutor(AT_ONCE) as pool:
            answers = list(pool.map(self._ask, agents.values()))
        told = {key: sums for key, sums in zip(agents, answers, strict=True) if sums is not None}
        grown: defaultdict[Key, Discards] = defaultdict(Discards)
        for agent, sums in told.items():
            for row, more in _growth(self._known.get(agent), sums).items():
                grown[row] += more
        # One that did not answer now is asked on from where it was.
        self._known = {key: self._known[key] for key in agents if key in self._known} | told
        with self._lock:
            if self._asked:
                self._grown.append((self._asked, dict(grown)))
            self._forget(now - KEPT_S)
        self._asked = now
        self._say(_coverage(len(told), len(agents)))

    def since(self, lane: str, start: float) -> dict[str, Discards]:
        """By scenario, what was counted on a lane in the rounds that began at or after `start`."""
        found: defaultdict[str, Discards] = defaultdict(Discards)
        with self._lock:
            for begun, grown in self._grown:
                for (where, scenario), more in grown.items():
                    if begun >= start and where == lane:
                        found[scenario] += more
        return dict(found)

    def _forget(self, before: float) -> None:
        rows = sum(len(grown) for _, grown in self._grown)
        while self._grown and (self._grown[0][0] < before or rows > MAX_KEPT):
            rows -= len(self._grown.popleft()[1])

    def _agents(self) -> dict[str, str]:
        """Address by agent: another one after each restart, since its sums begin anew."""
        if not self.names.tracing:
            return {}
        pods = self.api.items(core(self.names.tracing, "pods"), "app=tracing")
        running = [pod for pod in pods if pod.get("status", {}).get("podIP")]
        return {_identity(pod): _address(pod, self.names) for pod in running[:MAX_AGENTS]}

    def _ask(self, address: str) -> Sums | None:
        try:
            return read(self.get(f"{address}/scenarios"))
        except SamplesUnreadable:
            return None

    def _say(self, line: str) -> None:
        if line != self.said:
            log.info("discards: %s", line or "every tracing agent answers")
        self.said = line


def read(body: bytes) -> Sums:
    """Customers' sums by lane and scenario. Raises SamplesUnreadable."""
    try:
        rows = json.loads(body)["scenarios"][:MAX_ROWS]
        found: defaultdict[Key, Discards] = defaultdict(Discards)
        for row in rows:
            lane, scenario = row["lane"], row["intent"]
            if lane in LANES and _SCENARIO.fullmatch(scenario) and not row["synthetic"]:
                found[lane, scenario] += Discards(
                    *map(partial(_number, row), ("answered", "generated", "discarded")),
                    *map(partial(_amount, row), ("seconds", "discarded_seconds")),
                )
        return dict(found)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise SamplesUnreadable(f"not what an agent says of scenarios: {error!r}") from None


def _growth(before: Sums | None, now: Sums) -> Sums:
    """What was added since the last time; nothing for an agent that is new to us, whose sums
    are of any age."""
    if before is None:
        return {}
    grown = {key: sums - before.get(key, Discards()) for key, sums in now.items()}
    return {key: more for key, more in grown.items() if more.grew and more != Discards()}


def _identity(pod: Object) -> str:
    status = pod["status"]
    restarts = [one.get("restartCount", 0) for one in status.get("containerStatuses", [])]
    return f"{pod['metadata'].get('uid', pod['metadata']['name'])} {sum(restarts)}"


def _address(pod: Object, names: Names) -> str:
    ip = pod["status"]["podIP"]
    return f"http://{f'[{ip}]' if ':' in ip else ip}:{names.tracing_port}"


def _coverage(told: int, all_of_them: int) -> str:
    if not all_of_them:
        return "no tracing is installed"
    return "" if told == all_of_them else f"{told} of {all_of_them} tracing agents answer"


def _number(row: dict[str, Any], name: str) -> int:
    value = row[name]
    if type(value) is not int or not 0 <= value <= _LARGEST:
        raise ValueError(f"{name} is no count")
    return value


def _amount(row: dict[str, Any], name: str) -> float:
    value = row[name]
    if type(value) not in (int, float) or not 0 <= value <= _LARGEST:
        raise ValueError(f"{name} is no amount")
    return float(value)
