"""Names, addresses and folders of one cluster, all derived from its name."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from deploy.cluster.errors import ClusterError

DEFAULT_NAME = "switchyard"
STATE_PARENT = Path("/var/lib")
DNS_DOMAIN = "cluster.local"

_FIRST_OCTET_PAIR = 203
_NAME = re.compile(r"switchyard(?:-([1-9]))?")


@dataclass(frozen=True)
class Cluster:
    """One cluster. `number` 0 is the usual one; 1 to 9 are throw-away neighbours.

    Addresses are IPv4 text; ranges are CIDR text within 10.(203+number).0.0/16.
    """

    number: int
    cache: Path

    @property
    def name(self) -> str:
        """Name of the network namespace, the node, the host interface and the control group."""
        return f"{DEFAULT_NAME}-{self.number}" if self.number else DEFAULT_NAME

    @property
    def prefix(self) -> str:
        return f"10.{_FIRST_OCTET_PAIR + self.number}"

    @property
    def whole_range(self) -> str:
        return f"{self.prefix}.0.0/16"

    @property
    def host_address(self) -> str:
        return f"{self.prefix}.0.1"

    @property
    def node_address(self) -> str:
        return f"{self.prefix}.0.2"

    @property
    def service_range(self) -> str:
        return f"{self.prefix}.64.0/20"

    @property
    def api_service_address(self) -> str:
        return f"{self.prefix}.64.1"

    @property
    def dns_address(self) -> str:
        return f"{self.prefix}.64.10"

    @property
    def pod_range(self) -> str:
        return f"{self.prefix}.128.0/20"

    @property
    def api_url(self) -> str:
        return f"https://{self.node_address}:6443"

    @property
    def registry(self) -> str:
        """Registry host and port as it stands in image names."""
        return f"{self.node_address}:5000"

    @property
    def state(self) -> Path:
        return STATE_PARENT / self.name

    @property
    def run(self) -> Path:
        return self.state / "run"

    @property
    def logs(self) -> Path:
        return self.state / "log"

    @property
    def config(self) -> Path:
        return self.state / "config"

    @property
    def credentials(self) -> Path:
        return self.state / "credentials"

    @property
    def kubeconfig(self) -> Path:
        return self.state / "kubeconfig"

    @property
    def containerd_socket(self) -> Path:
        return self.run / "containerd.sock"

    @property
    def registry_data(self) -> Path:
        """Kept when the cluster goes: pushing the same images again costs nothing."""
        return self.cache / "registry" / self.name

    @property
    def network_namespace(self) -> Path:
        return Path("/run/netns") / self.name


def cache_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Folder of things that can be made again, by the XDG rule."""
    base = environ.get("XDG_CACHE_HOME") or str(Path(environ.get("HOME", "/root")) / ".cache")
    return Path(base) / "switchyard"


def cluster(environ: Mapping[str, str] = os.environ) -> Cluster:
    """The cluster that `SWITCHYARD_CLUSTER` names, the usual one without it.

    Raises ClusterError for a name that is not `switchyard` or `switchyard-N`.
    """
    name = environ.get("SWITCHYARD_CLUSTER") or DEFAULT_NAME
    match = _NAME.fullmatch(name)
    if match is None:
        raise ClusterError(
            f"SWITCHYARD_CLUSTER={name}: unknown name; "
            f"use {DEFAULT_NAME} or {DEFAULT_NAME}-1 to {DEFAULT_NAME}-9"
        )
    return Cluster(number=int(match[1] or 0), cache=cache_folder(environ))
