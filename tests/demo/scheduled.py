"""When a pod of a lane was first given a node, seen through a watch."""

from __future__ import annotations

import subprocess
import threading
import time

from tests.demo.fleet import KUBECTL


class Scheduled:
    """Watches the lanes' pods while the `with` block lasts."""

    def __init__(self) -> None:
        self.first: dict[str, float] = {}

    def __enter__(self) -> Scheduled:
        line = 'jsonpath={.metadata.name}{" "}{.spec.nodeName}{"\\n"}'
        self.watch = subprocess.Popen(
            [KUBECTL, "-n", "switchyard", "get", "pods", "--watch", "-o", line],
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        return self

    def _read(self) -> None:
        assert self.watch.stdout is not None
        for line in self.watch.stdout:
            name, _, node = line.strip().partition(" ")
            if node:
                self.first.setdefault(name, time.time())

    def __exit__(self, *_: object) -> None:
        self.watch.terminate()
        self.watch.wait(10)

    def first_after(self, moment: float) -> float | None:
        """Unix seconds of the first pod scheduled after `moment`, or None."""
        later = [at for at in self.first.values() if at > moment]
        return min(later) if later else None
