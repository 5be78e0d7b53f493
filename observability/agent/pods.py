"""The pods of this node that are to be traced, and which processes are theirs."""

import json
import os
import ssl
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from observability.agent import process
from observability.bpf.errors import TraceError

_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_TIMEOUT_S = 5


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod, as far as a recording names it."""

    uid: str
    namespace: str
    name: str
    lane: str


class Cluster:
    """The API server, asked with the pod's own account."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        """Errors: `TraceError` outside a pod."""
        try:
            host = environment["KUBERNETES_SERVICE_HOST"]
            port = environment["KUBERNETES_SERVICE_PORT"]
            self._tls = ssl.create_default_context(cafile=str(_ACCOUNT / "ca.crt"))
            # Python 3.13 asks for extensions that many a cluster's own authority lacks, and that
            # no other client of the API server asks for.
            self._tls.verify_flags &= ~ssl.VERIFY_X509_STRICT
        except (KeyError, OSError) as error:
            raise TraceError(f"this is no pod with an account of its own: {error}") from None
        self._url = f"https://{f'[{host}]' if ':' in host else host}:{port}"

    def pods(self, namespace: str, selector: str, node: str) -> list[Pod]:
        """The pods of a namespace with these labels on this node. Errors: `TraceError`."""
        query = urllib.parse.urlencode(
            {"labelSelector": selector, "fieldSelector": f"spec.nodeName={node}"}
        )
        request = urllib.request.Request(  # noqa: S310 - https, of our own making
            f"{self._url}/api/v1/namespaces/{namespace}/pods?{query}",
            # Read anew: the kubelet changes it every hour.
            headers={"Authorization": f"Bearer {(_ACCOUNT / 'token').read_text()}"},
        )
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT_S, context=self._tls) as answer:  # noqa: S310
                return parse(json.load(answer))
        except (urllib.error.URLError, OSError, ValueError) as error:
            raise TraceError(f"the API server does not list pods of {namespace}: {error}") from None


def parse(listed: Mapping[str, Any]) -> list[Pod]:
    """The pods of an API server's list."""
    return [
        Pod(
            item["metadata"]["uid"],
            item["metadata"]["namespace"],
            item["metadata"]["name"],
            item["metadata"].get("labels", {}).get("lane", ""),
        )
        for item in listed["items"]
    ]


def owner(cgroup: str, pods: Iterable[Pod]) -> Pod | None:
    """The pod whose control group this is. systemd writes a uid with underscores."""
    for pod in pods:
        if f"pod{pod.uid}" in cgroup or f"pod{pod.uid.replace('-', '_')}" in cgroup:
            return pod
    return None


def processes(pods: Iterable[Pod]) -> dict[int, Pod]:
    """The processes of these pods, as this /proc numbers them."""
    known = list(pods)
    found = {pid: owner(process.cgroup(pid), known) for pid in process.all_pids()}
    return {pid: pod for pid, pod in found.items() if pod}
