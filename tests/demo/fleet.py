"""Clients as pods in the cluster, and what they saw."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.client_pod import client_pod

NAMESPACE = "switchyard-clients"
CLIENT = Path(__file__).with_name("client.py")
KUBECTL = str(Path(sys.executable).with_name("kubectl"))


def kubectl(*arguments: str, text: str | None = None, timeout: float = 60) -> str:
    done = subprocess.run(
        [KUBECTL, *arguments],
        input=text, capture_output=True, text=True, timeout=timeout, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise RuntimeError(f"kubectl {' '.join(arguments[:4])}: {done.stderr.strip()[:300]}")
    return done.stdout


@dataclass
class Fleet:
    """One pod that plays several clients; `seen` fills while it runs."""

    name: str
    orders: dict[str, Any]
    seen: list[dict[str, Any]] = field(default_factory=list)
    started: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        self.stop()
        kubectl("apply", "-f", "-", text=yaml.safe_dump_all(self.objects()))
        pod = f"pod/{self.name}"
        kubectl("-n", NAMESPACE, "wait", "--for=condition=Ready", pod, "--timeout=60s", timeout=70)
        self.follower = subprocess.Popen(
            [KUBECTL, "-n", NAMESPACE, "logs", "-f", self.name],
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        if not self.started.wait(30):
            raise RuntimeError(f"client pod {self.name} said nothing for 30 s")

    def read(self) -> None:
        assert self.follower.stdout is not None
        for line in self.follower.stdout:
            try:
                row = json.loads(line)
            except ValueError:
                row = {"client": "", "ok": False, "why": line.strip()[:300], "t0": time.time()}
            if row.get("started"):
                self.started.set()
            else:
                self.seen.append(row)

    def stop(self) -> None:
        follower = getattr(self, "follower", None)
        kubectl("-n", NAMESPACE, "delete", "pod,secret", self.name, "--ignore-not-found",
                "--grace-period=1", "--wait=true", timeout=90)  # fmt: skip
        if follower is not None:
            follower.wait(20)
            self.reader.join(10)

    def objects(self) -> list[dict[str, Any]]:
        meta = {"name": self.name, "namespace": NAMESPACE}
        pod = client_pod(
            self.name,
            ["python3", "-u", "/orders/client.py", "/orders/orders.json"],
            namespace=NAMESPACE,
            app="demo-client",
            container={
                "volumeMounts": [{"name": "orders", "mountPath": "/orders"}],
                "resources": {
                    "requests": {"cpu": "20m", "memory": "64Mi"},
                    "limits": {"memory": "256Mi"},
                },
            },
            terminationGracePeriodSeconds=1,
            dnsConfig={
                "options": [{"name": "timeout", "value": "2"}, {"name": "attempts", "value": "1"}]
            },
            volumes=[{"name": "orders", "secret": {"secretName": self.name}}],
        )
        files = {"client.py": CLIENT.read_text(), "orders.json": json.dumps(self.orders)}
        return [
            {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "stringData": files},
            pod,
        ]
