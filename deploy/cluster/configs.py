"""Configuration files of the cluster's processes, as text: pure functions of the cluster."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import yaml

from deploy.cluster import toml
from deploy.cluster.topology import DNS_DOMAIN, Cluster

# Inside the private mount namespace /run is the cluster's own (see `supervisor`).
CONTAINERD_STATE = "/run/containerd"
CNI_ADDRESSES = "/run/cni"


def files(cluster: Cluster, pause_image: str) -> Mapping[str, str]:
    """Text of each file by its path below `cluster.config`."""
    return {
        "kubelet.yaml": yaml.safe_dump(kubelet(cluster), sort_keys=False),
        "kube-proxy.yaml": yaml.safe_dump(kube_proxy(cluster), sort_keys=False),
        "registry.yaml": yaml.safe_dump(registry(cluster), sort_keys=False),
        "containerd.toml": toml.dumps(containerd(cluster, pause_image)),
        f"hosts/{cluster.registry}/hosts.toml": toml.dumps(registry_hosts(cluster)),
        "cni/10-switchyard.conflist": json.dumps(cni(cluster), indent=2) + "\n",
        # The host's resolver must not leak into pods with `dnsPolicy: Default`.
        "resolv.conf": "# This cluster has no upstream resolver.\n",
    }


def kubelet(cluster: Cluster) -> dict[str, Any]:
    credentials = cluster.credentials
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": cluster.node_address,
        "healthzBindAddress": "127.0.0.1",
        "tlsCertFile": str(credentials / "kubelet.crt"),
        "tlsPrivateKeyFile": str(credentials / "kubelet.key"),
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(credentials / "ca.crt")},
        },
        "authorization": {"mode": "Webhook"},
        "clusterDNS": [cluster.dns_address],
        "clusterDomain": DNS_DOMAIN,
        "resolvConf": str(cluster.config / "resolv.conf"),
        "containerRuntimeEndpoint": f"unix://{cluster.containerd_socket}",
        "volumePluginDir": str(cluster.state / "volume-plugins"),
        "podLogsDir": str(cluster.logs / "pods"),
        "containerLogMaxSize": "8Mi",
        "containerLogMaxFiles": 2,
        "podPidsLimit": 2048,
        "serializeImagePulls": False,
        "maxParallelImagePulls": 2,
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{cluster.name}",
        "enforceNodeAllocatable": [],
        "failCgroupV1": False,
        "failSwapOn": False,
        # Lowering it needs CAP_SYS_RESOURCE, which not every machine grants.
        "oomScoreAdj": 0,
        "evictionHard": {
            "memory.available": "200Mi",
            "nodefs.available": "1%",
            "nodefs.inodesFree": "1%",
            "imagefs.available": "1%",
        },
        "imageGCHighThresholdPercent": 98,
        "imageGCLowThresholdPercent": 95,
    }


def kube_proxy(cluster: Cluster) -> dict[str, Any]:
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "clientConnection": {"kubeconfig": str(cluster.credentials / "kube-proxy.kubeconfig")},
        "hostnameOverride": cluster.name,
        "clusterCIDR": cluster.pod_range,
        "mode": "iptables",
        # The default of a second would hold back the second change of an undo.
        "iptables": {"minSyncPeriod": "100ms"},
        "healthzBindAddress": "127.0.0.1:10256",
        "metricsBindAddress": "127.0.0.1:10249",
        # Limits of connection tracking belong to the whole machine: left alone.
        "conntrack": {
            "maxPerCore": 0,
            "tcpEstablishedTimeout": "0s",
            "tcpCloseWaitTimeout": "0s",
        },
    }


def registry(cluster: Cluster) -> dict[str, Any]:
    return {
        "version": 0.1,
        "log": {"level": "warn", "accesslog": {"disabled": True}},
        "storage": {
            "filesystem": {"rootdirectory": str(cluster.registry_data)},
            "delete": {"enabled": True},
        },
        "http": {"addr": cluster.registry},
    }


def registry_hosts(cluster: Cluster) -> dict[str, Any]:
    url = f"http://{cluster.registry}"
    return {"server": url, "host": {url: {"capabilities": ["pull", "resolve"]}}}


def containerd(cluster: Cluster, pause_image: str) -> dict[str, Any]:
    runc = {
        "runtime_type": "io.containerd.runc.v2",
        "options": {"SystemdCgroup": False, "Root": f"{CONTAINERD_STATE}/runc"},
    }
    return {
        "version": 2,
        "root": str(cluster.state / "containerd"),
        "state": CONTAINERD_STATE,
        "disabled_plugins": [
            f"io.containerd.snapshotter.v1.{name}" for name in ("aufs", "btrfs", "devmapper", "zfs")
        ],
        "grpc": {"address": str(cluster.containerd_socket)},
        "plugins": {
            "io.containerd.internal.v1.opt": {"path": str(cluster.state / "containerd-opt")},
            "io.containerd.grpc.v1.cri": {
                "sandbox_image": pause_image,
                "restrict_oom_score_adj": True,
                "disable_hugetlb_controller": True,
                "netns_mounts_under_state_dir": True,
                "containerd": {
                    "snapshotter": "overlayfs",
                    "default_runtime_name": "runc",
                    "runtimes": {"runc": runc},
                },
                "cni": {
                    "bin_dir": "/usr/lib/cni",
                    "conf_dir": str(cluster.config / "cni"),
                    "max_conf_num": 1,
                },
                "registry": {"config_path": str(cluster.config / "hosts")},
            },
        },
    }


def cni(cluster: Cluster) -> dict[str, Any]:
    """Routed pods: a veth pair each, no bridge."""
    addresses = {
        "type": "host-local",
        "dataDir": CNI_ADDRESSES,
        "ranges": [[{"subnet": cluster.pod_range}]],
        "routes": [{"dst": "0.0.0.0/0"}],
    }
    return {
        "cniVersion": "0.4.0",
        "name": cluster.name,
        "plugins": [
            {"type": "ptp", "ipam": addresses},
            {"type": "portmap", "capabilities": {"portMappings": True}},
        ],
    }
