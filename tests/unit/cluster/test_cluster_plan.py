"""Names, addresses, configuration and commands of the local cluster, without any machine."""

from __future__ import annotations

import ipaddress
import json
import os
import subprocess
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.cluster import (
    builds,
    cgroups,
    components,
    configs,
    credentials,
    mounts,
    network,
    packages,
    pause_image,
    processes,
    toml,
    topology,
)
from deploy.cluster.api import node_is_ready
from deploy.cluster.components import Component
from deploy.cluster.errors import ClusterError
from deploy.cluster.host import Before, merged
from deploy.cluster.topology import Cluster

USUAL = Cluster(number=0, cache=Path("/cache"))
SECOND = Cluster(number=1, cache=Path("/cache"))


def test_usual_cluster_has_the_agreed_addresses() -> None:
    assert USUAL.name == "switchyard"
    assert USUAL.api_url == "https://10.203.0.2:6443"
    assert USUAL.registry == "10.203.0.2:5000"
    assert (USUAL.service_range, USUAL.pod_range) == ("10.203.64.0/20", "10.203.128.0/20")
    assert USUAL.dns_address == "10.203.64.10"
    assert USUAL.kubeconfig == Path("/var/lib/switchyard/kubeconfig")


def test_two_clusters_share_no_address_no_folder_and_no_name() -> None:
    first, second = (ipaddress.IPv4Network(c.whole_range) for c in (USUAL, SECOND))
    assert not first.overlaps(second)
    assert USUAL.state != SECOND.state
    assert USUAL.registry_data != SECOND.registry_data
    assert USUAL.name != SECOND.name


def test_ranges_lie_in_the_whole_range_and_apart_from_each_other() -> None:
    whole = ipaddress.IPv4Network(USUAL.whole_range)
    services, pods = map(ipaddress.IPv4Network, (USUAL.service_range, USUAL.pod_range))
    assert services.subnet_of(whole)
    assert pods.subnet_of(whole)
    assert not services.overlaps(pods)
    assert ipaddress.ip_address(USUAL.dns_address) in services


@pytest.mark.parametrize("name", ["switchyard-0", "switchyard-10", "../etc", "other"])
def test_unknown_cluster_name_is_refused_with_the_names_that_work(name: str) -> None:
    with pytest.raises(ClusterError, match="switchyard-1 to switchyard-9"):
        topology.cluster({"SWITCHYARD_CLUSTER": name})


def test_interface_name_fits_the_kernels_fifteen_characters() -> None:
    assert len(Cluster(number=9, cache=Path("/c")).name) <= 15


def test_cache_folder_follows_the_xdg_rule() -> None:
    assert topology.cache_folder({"XDG_CACHE_HOME": "/x"}) == Path("/x/switchyard")
    assert topology.cache_folder({"HOME": "/h"}) == Path("/h/.cache/switchyard")


def test_build_key_changes_with_every_input_and_with_the_command() -> None:
    build = builds.Build("tool", "example.org/tool")
    same = {"go.mod": b"a", "go.sum": b"b"}
    first = builds.key(build, same)
    assert first == builds.key(build, dict(reversed(same.items())))
    assert first != builds.key(build, {"go.mod": b"a", "go.sum": b"c"})
    assert first != builds.key(build, {"go.mod": b"ab", "go.sum": b""})
    other = builds.Build("tool", "example.org/tool", linker="-s")
    assert first != builds.key(other, same)


def test_every_build_has_its_sources_committed_beside_it() -> None:
    for build in builds.BUILDS.values():
        for name in build.files:
            assert (build.folder / name).is_file(), f"{build.name}: {name}"


def test_unknown_binary_is_refused_with_the_known_names() -> None:
    with pytest.raises(ClusterError, match="coredns, etcd, kube, network-policies, pause"):
        builds.ensure("docker", Path("/cache"))


def test_the_last_wanted_builds_of_a_program_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(builds, "_build", lambda build, result: result.parent.mkdir(parents=True))
    older = [tmp_path / "bin" / f"etcd-{number:016x}" for number in range(builds.KEPT + 1)]
    others = [tmp_path / "bin" / name for name in ("kube-0123456789abcdef", "etcd-notes")]
    for number, folder in enumerate([*older, *others]):
        folder.mkdir(parents=True)
        os.utime(folder, (number, number))
    made = builds.ensure("etcd", tmp_path)
    left = set((tmp_path / "bin").iterdir())
    assert left == {made.parent, *older[-builds.KEPT + 1 :], *others}


def test_toml_survives_the_round_trip() -> None:
    table: dict[str, Any] = {
        "version": 2,
        "plugins": {"a.b": {"on": True, "list": ["x", 'quote"'], "deep": {"text": "é\\"}}},
        "last": "after a table",
    }
    assert tomllib.loads(toml.dumps(table)) == table


def test_containerd_pulls_from_the_local_registry_and_mounts_outside_run_netns() -> None:
    files = configs.files(USUAL, "10.203.0.2:5000/switchyard/pause:k")
    config = tomllib.loads(files["containerd.toml"])
    cri = config["plugins"]["io.containerd.grpc.v1.cri"]
    assert cri["netns_mounts_under_state_dir"] is True
    assert cri["restrict_oom_score_adj"] is True
    hosts = tomllib.loads(files["hosts/10.203.0.2:5000/hosts.toml"])
    assert hosts["host"]["http://10.203.0.2:5000"]["capabilities"] == ["pull", "resolve"]


def test_kubelet_lets_nobody_in_unauthenticated_and_leaks_no_resolver() -> None:
    config = yaml.safe_load(configs.files(USUAL, "pause")["kubelet.yaml"])
    assert config["authentication"]["anonymous"] == {"enabled": False}
    assert config["authorization"] == {"mode": "Webhook"}
    assert config["resolvConf"].startswith(str(USUAL.config))
    assert "nameserver" not in configs.files(USUAL, "pause")["resolv.conf"]


def test_each_cluster_has_its_own_control_group_root() -> None:
    assert configs.kubelet(USUAL)["cgroupRoot"] != configs.kubelet(SECOND)["cgroupRoot"]


def test_pods_get_addresses_of_the_pod_range() -> None:
    plugin = json.loads(configs.files(USUAL, "p")["cni/10-switchyard.conflist"])["plugins"][0]
    assert plugin["ipam"]["ranges"] == [[{"subnet": USUAL.pod_range}]]


def _items() -> list[Component]:
    return components.components(USUAL, Path("/bin/kube"), Path("/bin/etcd"))


def test_components_survive_the_file_between_up_and_supervisor() -> None:
    assert components.loads(components.dumps(_items())) == _items()


def test_stamp_changes_with_the_command_and_with_a_file_it_reads_only() -> None:
    proxy = next(item for item in _items() if item.name == "kube-proxy")
    path = f"{USUAL.config}/kube-proxy.yaml"
    stamp = components.stamped(proxy, {path: "a", "/other": "b"}).stamp
    assert stamp == components.stamped(proxy, {path: "a", "/other": "c"}).stamp
    assert stamp != components.stamped(proxy, {path: "b"}).stamp


def test_restart_turns_one_component_and_refuses_an_unknown_one() -> None:
    turned = components.restarted(_items(), "kubelet")
    assert [item.name for item in turned if item.turn] == ["kubelet"]
    with pytest.raises(ClusterError, match="kube-apiserver"):
        components.restarted(_items(), "apiserver")


def test_nothing_but_the_api_server_listens_for_pods() -> None:
    for item in _items():
        if item.name in {"kube-controller-manager", "kube-scheduler"}:
            assert "--secure-port=0" in item.argv
        if item.name == "etcd":
            assert all("0.0.0.0" not in word for word in item.argv)


def test_token_file_gives_the_node_its_own_user_and_group() -> None:
    given = {name: f"t-{name}" for name in credentials.USERS}
    text = credentials.token_file(given, "node-a")
    assert credentials.tokens(text) == given
    lines = dict(line.split(",", 1) for line in text.splitlines())
    assert lines["t-kubelet"] == 'system:node:node-a,system:node:node-a,"system:nodes"'
    assert lines["t-admin"].endswith('"system:masters"')


def test_kubeconfig_names_the_cluster_and_carries_the_authority() -> None:
    config = json.loads(credentials.kubeconfig(USUAL, b"PEM", "admin", "secret"))
    assert config["clusters"][0]["cluster"]["server"] == USUAL.api_url
    assert config["clusters"][0]["cluster"]["certificate-authority-data"] == "UEVN"
    assert config["users"][0]["user"] == {"token": "secret"}


def test_api_server_certificate_is_good_for_pods_and_for_the_host() -> None:
    names = credentials.server_names(USUAL).split(",")
    assert {"IP:10.203.0.2", "IP:10.203.64.1", "DNS:kubernetes.default.svc"} <= set(names)


def test_gate_passes_probes_then_known_connections_then_asks_and_never_bypasses() -> None:
    rules = network.gate_rules(USUAL).splitlines()
    asked = [n for n, rule in enumerate(rules) if "NFQUEUE" in rule]
    passed = [n for n, rule in enumerate(rules) if rule.endswith("ACCEPT")]
    assert len(passed) == len(asked) == 2
    assert max(passed) < min(asked)
    assert "bypass" not in network.gate_rules(USUAL)


def test_route_of_somebody_else_inside_the_range_is_a_conflict_and_our_own_is_not() -> None:
    routes = [
        {"dst": "default", "dev": "eth0"},
        {"dst": "10.203.64.0/20", "dev": "switchyard"},
        {"dst": "10.203.7.9", "dev": "tun0"},
        {"dst": "192.168.0.0/24", "dev": "eth0"},
    ]
    assert network.conflicts(USUAL, json.dumps(routes)) == ["10.203.7.9 dev tun0"]
    assert network.conflicts(SECOND, json.dumps(routes)) == []


def test_node_has_no_way_out() -> None:
    assert all("default" not in argv for argv in network.node_commands(USUAL))


V1 = """30 1 0:26 / /sys/fs/cgroup rw - tmpfs tmpfs rw
31 30 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu
32 30 0:28 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids
33 30 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
"""


def test_hierarchies_of_both_versions_are_found_and_one_tracks_everything() -> None:
    found = cgroups.hierarchies(V1)
    assert set(found) == {"cpu", "pids", "unified"}
    assert cgroups.tracker(found) == Path("/sys/fs/cgroup/pids")
    alone = cgroups.hierarchies("30 1 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n")
    assert cgroups.tracker(alone) == Path("/sys/fs/cgroup")
    with pytest.raises(ClusterError, match="no control groups"):
        cgroups.tracker({})


def test_mounts_below_a_folder_come_deepest_first_and_siblings_do_not() -> None:
    points = ["/a", "/a/b/c", "/a/b", "/ab", "/"]
    text = "".join(f"1 1 0:1 / {point} rw - ext4 d rw\n" for point in points)
    assert mounts.under(Path("/a"), text) == [Path("/a/b/c"), Path("/a/b"), Path("/a")]


def test_missing_packages_are_those_not_fully_installed() -> None:
    shown = "".join(f"{name} install ok installed\n" for name in packages.PACKAGES[1:-1])
    shown += f"{packages.PACKAGES[-1]} deinstall ok config-files\n"
    assert packages.missing(shown) == [packages.PACKAGES[0], packages.PACKAGES[-1]]


def test_pause_image_depends_on_nothing_but_the_binary() -> None:
    assert pause_image.archive(b"elf") == pause_image.archive(b"elf")
    assert pause_image.archive(b"elf") != pause_image.archive(b"elf2")


def _node(**changed: Any) -> dict[str, Any]:
    condition = {"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-01-01T00:00:07Z"}
    return {"status": {"conditions": [{**condition, **changed}]}}


REPORTED = 1767225607.0


def test_node_with_a_taint_is_not_ready() -> None:
    assert node_is_ready(_node(), REPORTED)
    assert not node_is_ready({**_node(), "spec": {"taints": [{"key": "not-ready"}]}}, REPORTED)
    assert not node_is_ready(_node(status="False"), REPORTED)
    assert not node_is_ready({"status": {}}, REPORTED)


def test_ready_of_the_kubelet_before_is_not_this_kubelets() -> None:
    assert node_is_ready(_node(), REPORTED + 0.9)  # the report has whole seconds
    assert not node_is_ready(_node(), REPORTED + 1)


def test_a_process_knows_when_it_started() -> None:
    begun = time.time()
    with subprocess.Popen(["/usr/bin/sleep", "20"]) as child:
        known = processes.identify(child.pid)
        assert known is not None
        assert abs(processes.started(known) - begun) < 5
        child.kill()


def test_the_first_clusters_memory_of_the_host_wins() -> None:
    first = Before({"vm/a": "0"}, ["/var/lib/cni"])
    second = Before({"vm/a": "1", "vm/b": "2"}, ["/var/lib/cni/deep"])
    together = merged(first, second)
    assert together.settings == {"vm/a": "0", "vm/b": "2"}
    assert together.missing == ["/var/lib/cni/deep", "/var/lib/cni"]
