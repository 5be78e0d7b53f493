"""The cluster's network: a namespace, one wire to the host, and the gate for policies."""

from __future__ import annotations

import ipaddress
import json
from pathlib import Path

from deploy.cluster.errors import ClusterError
from deploy.cluster.shell import run, succeeds
from deploy.cluster.topology import Cluster

QUEUE = 98
GATE = "SWITCHYARD-POLICY"

_INNER = "uplink"
_JUMP = ("POSTROUTING", "-j", GATE)


def host_commands(cluster: Cluster) -> list[list[str]]:
    """Commands for the host's end of the wire; each may be repeated."""
    wire = cluster.name
    ways = [
        ["ip", "route", "replace", way, "via", cluster.node_address, "dev", wire]
        for way in (cluster.service_range, cluster.pod_range)
    ]
    return [
        ["ip", "address", "replace", f"{cluster.host_address}/30", "dev", wire],
        ["ip", "link", "set", wire, "up"],
        *ways,
    ]


def node_commands(cluster: Cluster) -> list[list[str]]:
    """Commands for the namespace; each may be repeated.

    There is no default route: pods reach the cluster and this host, and nothing beyond.
    """
    return [
        ["ip", "link", "set", "lo", "up"],
        ["ip", "address", "replace", f"{cluster.node_address}/30", "dev", _INNER],
        ["ip", "link", "set", _INNER, "up"],
        # The node's own packets to a Service need some route before their address is rewritten.
        ["ip", "route", "replace", cluster.service_range, "via", cluster.host_address],
        ["sysctl", "-q", "-w", "net.ipv4.ip_forward=1"],
    ]


def gate_rules(cluster: Cluster) -> str:
    """The policy gate for `iptables-restore --noflush`: it replaces the chain's rules at once.

    New connections from or to a pod, also those between a pod and the host, wait for the
    verdict of the process that listens on QUEUE; while nobody listens they get nowhere.
    Packets of root's own processes on the node (probes) pass, and so do pods' packets to
    the node itself (the API server), which never come by here.
    """
    pods = cluster.pod_range
    return "\n".join(
        [
            "*mangle",
            f":{GATE} - [0:0]",
            f"-A {GATE} -m owner --uid-owner 0 -j ACCEPT",
            f"-A {GATE} -m conntrack --ctstate ESTABLISHED,RELATED -j ACCEPT",
            f"-A {GATE} -s {pods} -j NFQUEUE --queue-num {QUEUE}",
            f"-A {GATE} -d {pods} -j NFQUEUE --queue-num {QUEUE}",
            "COMMIT",
            "",
        ]
    )


def conflicts(cluster: Cluster, routes: str) -> list[str]:
    """Foreign routes of the host (`ip -json route`) that overlap the cluster's range."""
    whole = ipaddress.ip_network(cluster.whole_range)
    found = []
    for route in json.loads(routes):
        target = route.get("dst", "default")
        if target == "default" or route.get("dev") == cluster.name:
            continue
        if ipaddress.ip_network(target, strict=False).overlaps(whole):
            found.append(f"{target} dev {route.get('dev')}")
    return found


def inside(cluster: Cluster, argv: list[str]) -> list[str]:
    """`argv` run in the cluster's network namespace.

    `ip netns exec` would add a mount namespace of its own and so hide mounts.
    """
    return ["nsenter", f"--net={cluster.network_namespace}", *argv]


def ensure(cluster: Cluster) -> None:
    """Make namespace, wire, routes and gate as they should be; changes nothing that already is."""
    others = conflicts(cluster, run(["ip", "-json", "-4", "route"]))
    if others:
        raise ClusterError(
            f"this host already routes {others[0]} inside {cluster.whole_range}: remove that route"
            " or choose another range with SWITCHYARD_CLUSTER=switchyard-1"
        )
    if not cluster.network_namespace.exists():
        run(["ip", "netns", "add", cluster.name])
    if not Path("/sys/class/net", cluster.name).exists():
        run(["ip", "link", "add", cluster.name, "type", "veth",
             "peer", "name", _INNER, "netns", cluster.name])  # fmt: skip
    for argv in node_commands(cluster):
        run(inside(cluster, argv))
    for argv in host_commands(cluster):
        run(argv)
    run(inside(cluster, ["iptables-restore", "--noflush"]), stdin=gate_rules(cluster))
    if not succeeds(inside(cluster, ["iptables", "-t", "mangle", "-C", *_JUMP])):
        run(inside(cluster, ["iptables", "-t", "mangle", "-A", *_JUMP]))
