"""Which cluster: our own, or the one that the caller's KUBECONFIG names."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from deploy.cluster.topology import DEFAULT_NAME, cluster
from deploy.errors import ApplyError


@dataclass(frozen=True)
class Target:
    """One cluster, and what of this machine belongs to it.

    `kubeconfig`: as in KUBECONFIG. `local`: the cluster of `make up`, whose DNS
    and disk are ours to set up. `volumes`: the folder of its data.
    """

    kubeconfig: str
    local: bool
    registry: str
    volumes: Path

    @property
    def environment(self) -> str:
        """`local` or `platform`: the name of its overlay and of its first settings."""
        return "local" if self.local else "platform"

    @property
    def overlay(self) -> str:
        """The platform overlay for this cluster."""
        return f"deploy/overlays/{self.environment}"


def target(environ: Mapping[str, str]) -> Target:
    """The cluster to apply to. Raises ApplyError when its kubeconfig is not there."""
    own = cluster(environ)
    named = environ.get("KUBECONFIG", "")
    kubeconfig = named or str(own.kubeconfig)
    local = kubeconfig == str(own.kubeconfig)
    registry = environ.get("REGISTRY") or (own.registry if local else "")
    if not any(Path(part).is_file() for part in kubeconfig.split(os.pathsep)):
        remedy = "run `python -m deploy.cluster up`" if local else "correct KUBECONFIG"
        raise ApplyError(f"kubeconfig {kubeconfig} is not there: {remedy}")
    if local and own.name != DEFAULT_NAME:
        raise ApplyError(
            f"overlay local has the addresses of cluster {DEFAULT_NAME}, not of {own.name}: "
            "unset SWITCHYARD_CLUSTER"
        )
    if not registry:
        raise ApplyError("REGISTRY is not set: name the registry that this cluster pulls from")
    return Target(kubeconfig, local, registry, own.state / "volumes")
