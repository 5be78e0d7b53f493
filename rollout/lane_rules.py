"""The rules by which a lane's objects speak for their own lane and part only.

`deploy/base/rollout` has the same names and asks the API server for the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rollout.finding import Finding
from rollout.generated import stem
from rollout.names import STAGING, Names
from rollout.render import Manifest
from rollout.rules import Rule, at, fault

PARTS = ("gateway", "pipeline", "tickets")
"""What a lane consists of: `gateway-blue` and so on. Others need rights from an admin first."""
REHEARSAL_PARTS = (*PARTS, "postgres")
ENTRANCE = "lane"
"""The Service by which scenarios meet a lane. Its gateways have no other: clients use roles."""
BUDGET, DEPLOYMENT, SCALER = "PodDisruptionBudget", "Deployment", "HorizontalPodAutoscaler"
OWN_LABELS = {
    BUDGET: ["metadata.labels", "spec.selector.matchLabels"],
    DEPLOYMENT: [
        "metadata.labels",
        "spec.selector.matchLabels",
        "spec.template.metadata.labels",
    ],
}
"""Where an object names its part and lane, by kind; others say their lane in their labels."""
_NAMES = Names()


def lane_of(objects: Sequence[Manifest], lanes: Sequence[str]) -> str:
    """The one of `lanes` that every Deployment is labelled with; empty if there is none."""
    found = {
        str(at(item, "metadata", "labels").get("lane"))
        for item in objects
        if item["kind"] == DEPLOYMENT
    }
    return next((lane for lane in lanes if found == {lane}), "")


def own_lane(lane: str) -> Rule:
    """A rule: an object is named for `lane`, labelled with it, and chooses only its pods."""

    def rule(item: Manifest) -> Iterator[Finding]:
        kind, name = item["kind"], item["metadata"]["name"]
        remedy = f"use the component lane-{lane}, which sets it"
        plain = stem(name) if kind == "ConfigMap" else ""
        if not (plain or name).endswith(f"-{lane}"):
            yield fault("lane", item, f"its name does not end in -{lane}", remedy)
        for path in OWN_LABELS.get(kind, ["metadata.labels"]):
            found = at(item, *path.split(".")).get("lane")
            if found != lane:
                yield fault("lane", item, f"{path}.lane is {found!r}, not {lane}", remedy)
        target = at(item, "spec", "scaleTargetRef").get("name")
        if kind == SCALER and target != name:
            yield fault("lane", item, f"it scales {target!r}, not {name}", "scale its own part")

    return rule


def own_part(lane: str) -> Rule:
    """A rule: an object is a known part of `lane`, and its pods are labelled as that part."""
    parts = REHEARSAL_PARTS if lane == STAGING else PARTS
    services = tuple(ENTRANCE if part == _NAMES.app else part for part in parts)

    def rule(item: Manifest) -> Iterator[Finding]:
        kind = item["kind"]
        name: str = item["metadata"]["name"]
        part = name.removesuffix(f"-{lane}")
        if part == name or kind not in (BUDGET, DEPLOYMENT, SCALER, "Service"):
            return
        known = services if kind == "Service" else parts
        if part not in known:
            yield fault("part", item, f"{part} is no part of a lane", f"use {', '.join(known)}")
        elif kind == "Service":
            yield from _own_service(item, part, lane)
        for path in OWN_LABELS.get(kind, []):
            found = at(item, *path.split(".")).get("app")
            if found != part:
                yield fault("part", item, f"{path}.app is {found!r}, not {part}", f"set it: {part}")

    return rule


def _own_service(item: Manifest, part: str, lane: str) -> Iterator[Finding]:
    """A part is reached by its own pods; scenarios judge a lane by its gateway's admin port."""
    spec, remedy = at(item, "spec"), "write it as in deploy/base/assistant"
    selector = {"app": _NAMES.app if part == ENTRANCE else part, "lane": lane}
    if spec.get("selector") != selector:
        yield fault("service", item, f"spec.selector is not {selector}", remedy)
    if part != ENTRANCE:
        return
    for field in sorted(spec.keys() - {"type", "selector", "ports"}):
        yield fault("service", item, f"spec.{field} is set", remedy)
    given = spec.get("ports")
    ports = [
        {"protocol": "TCP", **at({"port": port}, "port"), "name": ""}
        for port in (given if isinstance(given, list) else [])
    ]
    wanted = {"name": "", "protocol": "TCP", "port": _NAMES.port}
    if ports not in ([{**wanted, "targetPort": to}] for to in ("admin", _NAMES.admin_port)):
        what = f"spec.ports is not one port {_NAMES.port} that leads to admin"
        yield fault("service", item, what, remedy)
