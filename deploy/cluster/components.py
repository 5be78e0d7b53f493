"""The processes of the cluster: command, what each waits for, what it reads."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from deploy.cluster.errors import ClusterError
from deploy.cluster.topology import DNS_DOMAIN, Cluster

ISSUER = f"https://kubernetes.default.svc.{DNS_DOMAIN}"
REGISTRY_BINARY = Path("/usr/bin/docker-registry")
CONTAINERD_BINARY = Path("/usr/bin/containerd")


@dataclass(frozen=True)
class Component:
    """One supervised process.

    `needs` are `tcp:ADDRESS:PORT` and `unix:PATH` that must accept a connection first;
    `grace` is how many seconds it gets to end after TERM, 0 meaning KILL at once;
    `stamp` changes with everything that calls for a restart; `turn` with each asked one.
    """

    name: str
    argv: tuple[str, ...]
    needs: tuple[str, ...] = ()
    grace: float = 5.0
    stamp: str = ""
    turn: int = 0


def components(cluster: Cluster, kube: Path, etcd: Path) -> list[Component]:
    """All processes of the cluster in the order in which they start."""
    api = f"tcp:{cluster.node_address}:6443"
    secrets = cluster.credentials
    containerd = f"unix:{cluster.containerd_socket}"

    def client(name: str, *flags: str) -> Component:
        config = str(secrets / f"{name}.kubeconfig")
        return Component(name, (str(kube), name, f"--kubeconfig={config}", *flags), (api,))

    return [
        _etcd(cluster, etcd),
        Component(
            "containerd",
            (str(CONTAINERD_BINARY), "--config", str(cluster.config / "containerd.toml")),
        ),
        Component(
            "registry", (str(REGISTRY_BINARY), "serve", str(cluster.config / "registry.yaml"))
        ),
        _apiserver(cluster, kube),
        client(
            "kube-controller-manager",
            "--secure-port=0",
            "--leader-elect=false",
            "--use-service-account-credentials=true",
            f"--service-account-private-key-file={secrets}/service-accounts.key",
            f"--root-ca-file={secrets}/ca.crt",
            # With the default of 20 a second its controllers start seven seconds long.
            "--kube-api-qps=200",
            "--kube-api-burst=400",
        ),
        client("kube-scheduler", "--secure-port=0", "--leader-elect=false"),
        Component(
            "kube-proxy",
            (str(kube), "kube-proxy", f"--config={cluster.config}/kube-proxy.yaml"),
            (api,),
        ),
        Component(
            "kubelet",
            (
                str(kube),
                "kubelet",
                f"--config={cluster.config}/kubelet.yaml",
                f"--kubeconfig={secrets}/kubelet.kubeconfig",
                f"--hostname-override={cluster.name}",
                f"--node-ip={cluster.node_address}",
            ),
            (api, containerd),
        ),
    ]


def _etcd(cluster: Cluster, binary: Path) -> Component:
    url = "http://127.0.0.1:2379"
    return Component(
        "etcd",
        (
            str(binary),
            f"--data-dir={cluster.state}/etcd",
            f"--listen-client-urls={url}",
            f"--advertise-client-urls={url}",
            "--listen-peer-urls=http://127.0.0.1:2380",
            "--log-level=warn",
            "--auto-compaction-mode=periodic",
            "--auto-compaction-retention=10m",
            # The cluster is thrown away with the machine's power; a slow disk must not slow it.
            "--unsafe-no-fsync",
        ),
    )


def _apiserver(cluster: Cluster, kube: Path) -> Component:
    secrets = cluster.credentials
    return Component(
        "kube-apiserver",
        (
            str(kube),
            "kube-apiserver",
            "--etcd-servers=http://127.0.0.1:2379",
            "--bind-address=0.0.0.0",
            f"--advertise-address={cluster.node_address}",
            f"--cert-dir={cluster.run}",
            f"--tls-cert-file={secrets}/apiserver.crt",
            f"--tls-private-key-file={secrets}/apiserver.key",
            f"--kubelet-certificate-authority={secrets}/ca.crt",
            f"--kubelet-client-certificate={secrets}/apiserver-kubelet.crt",
            f"--kubelet-client-key={secrets}/apiserver-kubelet.key",
            "--kubelet-preferred-address-types=InternalIP",
            f"--token-auth-file={secrets}/tokens.csv",
            "--anonymous-auth=false",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            f"--service-account-key-file={secrets}/service-accounts.pub",
            f"--service-account-signing-key-file={secrets}/service-accounts.key",
            f"--service-account-issuer={ISSUER}",
            f"--api-audiences={ISSUER}",
            f"--service-cluster-ip-range={cluster.service_range}",
            "--endpoint-reconciler-type=lease",
            "--allow-privileged=true",
            "--profiling=false",
        ),
        needs=("tcp:127.0.0.1:2379",),
        # With clients alive it takes a minute to end by itself.
        grace=0.0,
    )


def stamped(component: Component, texts: Mapping[str, str]) -> Component:
    """`component` with the stamp of its command and of those `texts` (by path) that it names."""
    digest = hashlib.sha256("\0".join(component.argv).encode())
    for path in sorted(texts):
        if any(path in word for word in component.argv):
            digest.update(f"\0{path}\0{texts[path]}".encode())
    return replace(component, stamp=digest.hexdigest()[:16])


def dumps(items: list[Component]) -> str:
    return json.dumps([asdict(item) for item in items], indent=1)


def loads(text: str) -> list[Component]:
    """Inverse of `dumps`."""
    return [
        Component(**{**item, "argv": tuple(item["argv"]), "needs": tuple(item["needs"])})
        for item in json.loads(text)
    ]


def restarted(items: list[Component], name: str) -> list[Component]:
    """The same components, with one more turn for `name`. Raises ClusterError if it is none."""
    if name not in {item.name for item in items}:
        known = ", ".join(item.name for item in items)
        raise ClusterError(f"restart {name}: unknown component; it is one of {known}")
    return [replace(item, turn=item.turn + (item.name == name)) for item in items]
