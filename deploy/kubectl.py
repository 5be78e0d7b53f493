"""A thin edge over kubectl: read, apply, wait."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass

from deploy.errors import ApplyError
from rollout.render import Manifest, kubectl

REQUEST_TIMEOUT_S = 30


@dataclass(frozen=True)
class Kubectl:
    """kubectl with one kubeconfig (as in KUBECONFIG); every call is bounded in time."""

    kubeconfig: str

    def run(
        self,
        *words: str,
        stdin: str | None = None,
        timeout_s: float = 60.0,
        request_s: int = REQUEST_TIMEOUT_S,
    ) -> str:
        """Standard output of `kubectl WORDS`. Raises ApplyError with kubectl's own reason."""
        done = self._call(words, stdin, timeout_s, request_s)
        if done.returncode != 0:
            shown = " ".join(word for word in words if not word.startswith("--"))
            raise ApplyError(f"kubectl {shown}: {_reason(done.stderr)}")
        return done.stdout

    def get(self, kind: str, name: str, namespace: str) -> Manifest | None:
        """One object, or None when it is not there."""
        words = ("get", kind, name, "-n", namespace, "--ignore-not-found", "-o", "json")
        text = self.run(*words)
        return dict(json.loads(text)) if text.strip() else None

    def list(self, kind: str, namespace: str, selector: str = "") -> list[Manifest]:
        """All objects of a kind in a namespace, by label if `selector` is given."""
        words = ["get", kind, "-n", namespace, "-o", "json"]
        return list(json.loads(self.run(*words, *(["-l", selector] if selector else [])))["items"])

    def apply(self, manifests: Iterable[Manifest], manager: str) -> None:
        """Server-side apply, never forced: a field that somebody else owns is an error."""
        stream = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(manifests)})
        words = ("apply", "--server-side", f"--field-manager={manager}", "-f", "-", "-o", "name")
        self.run(*words, stdin=stream, timeout_s=120.0)

    def _call(
        self, words: Iterable[str], stdin: str | None, timeout_s: float, request_s: int
    ) -> subprocess.CompletedProcess[str]:
        command = [kubectl(), f"--request-timeout={request_s}s", *words]
        try:
            return subprocess.run(
                command,
                input=stdin,
                stdin=subprocess.DEVNULL if stdin is None else None,
                capture_output=True,
                text=True,
                timeout=timeout_s,
                check=False,
                env={**os.environ, "KUBECONFIG": self.kubeconfig},
            )
        except subprocess.TimeoutExpired:
            raise ApplyError(
                f"kubectl {next(iter(words))}: no answer in {timeout_s:g} s: "
                "run `python -m deploy.cluster status`, or look at the API server"
            ) from None


def _reason(stderr: str) -> str:
    lines = [line for line in stderr.splitlines() if line and not line.startswith("Warning:")]
    return " ".join(" ".join(lines).removeprefix("error: ").split())[:600] or "no reason given"
