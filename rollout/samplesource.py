"""The gateways' samples, gathered pod by pod from their admin ports."""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass, field

from rollout.cluster import Api, Object, core
from rollout.names import LANES, Names
from rollout.samples import PAGE, Sample, SamplesUnreadable, fetch

KEPT_S = 900.0
KEPT_SAMPLES = 50_000
MAX_PAGES = 10


@dataclass
class Cursor:
    """How far one pod's ring was read."""

    boot: str = ""
    after: int = 0


@dataclass
class SampleSource:
    """Samples by lane. `poll` reads what is new; pods that do not answer are left out."""

    api: Api
    names: Names
    _cursors: dict[str, Cursor] = field(default_factory=dict)
    _samples: dict[str, deque[Sample]] = field(
        default_factory=lambda: {lane: deque(maxlen=KEPT_SAMPLES) for lane in LANES}
    )
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def poll(self) -> None:
        """Read every gateway pod once. Raises RolloutError if pods cannot be listed."""
        selector = f"app={self.names.app},lane in ({','.join(LANES)})"
        pods = self.api.items(core(self.names.lanes, "pods"), selector)
        for pod in pods:
            if pod.get("status", {}).get("phase") == "Running":
                self._read(pod, pod["metadata"]["labels"]["lane"])
        alive = {pod["metadata"]["name"] for pod in pods}
        self._cursors = {name: at for name, at in self._cursors.items() if name in alive}
        self._forget(time.time() - KEPT_S)

    def since(self, lane: str, start: float) -> list[Sample]:
        """The lane's samples of customers that ended at or after `start` (unix seconds)."""
        with self._lock:
            return [s for s in self._samples[lane] if s.t >= start and not s.synthetic]

    def _read(self, pod: Object, lane: str) -> None:
        ip = pod["status"].get("podIP", "")
        base = f"http://{f'[{ip}]' if ':' in ip else ip}:{self.names.admin_port}"
        cursor = self._cursors.setdefault(pod["metadata"]["name"], Cursor())
        for _ in range(MAX_PAGES):
            try:
                boot, following, page = fetch(base, cursor.after)
            except SamplesUnreadable:
                return
            if cursor.boot and boot != cursor.boot:
                # The process is another one: its sequence numbers start again.
                cursor.boot, cursor.after = boot, 0
                continue
            cursor.boot, cursor.after = boot, following
            with self._lock:
                self._samples[lane].extend(page)
            if len(page) < PAGE:
                return

    def _forget(self, before: float) -> None:
        with self._lock:
            for kept in self._samples.values():
                while kept and kept[0].t < before:
                    kept.popleft()
