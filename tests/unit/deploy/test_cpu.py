"""The table of CPU requests: both lanes and everything else fit on two small cores."""

from __future__ import annotations

from typing import Any

BOTH_LANES_MAX = 1.8
NODE = 2.0


def cores(quantity: Any) -> float:
    """Cores of a Kubernetes CPU quantity such as `75m` or `1`."""
    text = str(quantity)
    return float(text[:-1]) / 1000 if text.endswith("m") else float(text)


def requested(item: dict[str, Any]) -> float:
    """Cores that one pod of a workload requests, as the scheduler counts them."""
    pod = item["spec"]["template"]["spec"]
    first = [cores(c["resources"]["requests"]["cpu"]) for c in pod.get("initContainers", [])]
    rest = sum(cores(c["resources"]["requests"]["cpu"]) for c in pod["containers"])
    return max([*first, rest])


def table(objects: list[dict[str, Any]]) -> dict[str, float]:
    """Cores by workload; a lane's Deployments count once, as their size here is 1."""
    return {
        f"{item['metadata']['namespace']}/{item['metadata']['name']}": requested(item)
        * item["spec"].get("replicas", 1)
        for item in objects
        if item["kind"] in ("Deployment", "StatefulSet", "DaemonSet")
    }


def test_both_lanes_and_the_platform_fit_1_8_cores(rendered):
    rows = table(rendered["local"]) | table(rendered["prod/blue"]) | table(rendered["prod/green"])
    for name, value in rows.items():
        print(f"{name:40} {value:6.3f}")
    print(f"{'total':40} {sum(rows.values()):6.3f}")
    assert sum(rows.values()) <= BOTH_LANES_MAX


def test_a_rehearsal_fits_the_node_beside_both_lanes(rendered):
    parts = ("local", "prod/blue", "prod/green", "staging", "migrate", "load")
    rows: dict[str, float] = {}
    for part in parts:
        rows |= table(rendered[part])
    assert sum(rows.values()) <= NODE


def test_a_replaced_lane_still_fits_while_its_old_pods_end(rendered):
    lanes = table(rendered["prod/blue"]) | table(rendered["prod/green"])
    rest = table(rendered["local"]) | table(rendered["staging"])
    overlap = table(rendered["prod/green"])
    assert sum([*lanes.values(), *rest.values(), *overlap.values()]) <= NODE


def test_a_limit_on_cpu_stands_only_where_nobody_waits(rendered):
    limited = [
        item["metadata"]["name"]
        for objects in rendered.values()
        for item in objects
        if item["kind"] in ("Deployment", "StatefulSet", "DaemonSet", "Job")
        for container in item["spec"]["template"]["spec"]["containers"]
        if "cpu" in container["resources"]["limits"]
    ]
    assert limited == ["loader", "migrate"]
