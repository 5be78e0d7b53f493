"""What a hostile commit may try with its lane; the lint and the API server refuse it alike.

Each change is made to one object of a lane's overlay, and breaks one rule only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rollout.names import EPOCH, PREVIOUS_LANE, RELEASE, ROLE
from rollout.render import Manifest

Change = Callable[[Manifest, str], object]
"""Changes the object; the second argument is the other lane."""


@dataclass(frozen=True)
class Hostile:
    """`found`: words of the lint's line. `denied`: words of the API server's."""

    what: str
    kind: str
    part: str
    change: Change
    found: str
    denied: str


def service(what: str, part: str, change: Change, found: str, denied: str) -> Hostile:
    return Hostile(what, "Service", part, change, found, denied)


def pod(what: str, change: Callable[[Manifest], object], found: str, denied: str) -> Hostile:
    """A change of the gateway's pod."""

    def deep(item: Manifest, other: str) -> None:
        change(item["spec"]["template"]["spec"])

    return Hostile(what, "Deployment", "gateway", deep, found, denied)


def container(what: str, change: Callable[[Manifest], object], found: str, denied: str) -> Hostile:
    """A change of the gateway's container."""
    return pod(what, lambda spec: change(spec["containers"][0]), found, denied)


def named(name: str) -> Change:
    return lambda item, other: item["metadata"].update(name=name)


def metadata(field: str, key: str, value: str) -> Change:
    return lambda item, other: item["metadata"].setdefault(field, {}).update({key: value})


def spec(**fields: object) -> Change:
    return lambda item, other: item["spec"].update(fields)


def volume(**kind: object) -> Callable[[Manifest], object]:
    return lambda spec: spec["volumes"].append({"name": "more", **kind})


def sets(**fields: object) -> Callable[[Manifest], object]:
    return lambda spec: spec.update(fields)


def writable(one: Manifest) -> None:
    one["securityContext"]["readOnlyRootFilesystem"] = False


def by_tag(one: Manifest) -> None:
    one["image"] = one["image"].split("@")[0] + ":1"


def placed(field: str, value: object) -> Hostile:
    found, denied = f"{field} is set", "does not choose its node"
    return pod(field, sets(**{field: value}), found, denied)


OWN, DOOR, ENTRANCE = "own part and lane", "is of type ClusterIP", "leads to admin"
NUMBERED = "numbered user"
TOKEN = {"sources": [{"serviceAccountToken": {"path": "token"}}]}
SERVICES = [
    service("foreign", "tickets", named("more-LANE"), "no part of a lane", "nothing else"),
    service("door", "tickets", spec(type="NodePort"), "its type is NodePort", DOOR),
    service("address", "tickets", spec(externalIPs=["192.0.2.1"]), "externalIPs is set", DOOR),
    service("early", "tickets", spec(publishNotReadyAddresses=True), "NotReadyAddresses", DOOR),
    service(
        "of the other lane", "pipeline",
        lambda item, other: item["spec"]["selector"].update(lane=other), "spec.selector", OWN,
    ),
    service(
        "of another part", "pipeline",
        lambda item, other: item["spec"]["selector"].update(app="tickets"), "spec.selector", OWN,
    ),
    service(
        "judged elsewhere", "lane",
        lambda item, other: item["spec"]["selector"].update(lane=other), "spec.selector", OWN,
    ),
    service(
        "door of clients", "lane",
        lambda item, other: item["spec"]["ports"][0].update(targetPort="http"),
        "leads to admin", ENTRANCE,
    ),
    service(
        "two doors", "lane",
        lambda item, other: item["spec"]["ports"].append({"name": "more", "port": 81}),
        "leads to admin", ENTRANCE,
    ),
    service("sticky", "lane", spec(sessionAffinity="ClientIP"), "sessionAffinity", ENTRANCE),
]  # fmt: skip
MARKED = [
    service(
        "role", "tickets", metadata("labels", ROLE, "candidate"), ROLE, "stands nowhere else"
    ),
    service("epoch", "tickets", metadata("annotations", EPOCH, "7"), EPOCH, "nothing else does"),
    Hostile(
        "release", "PodDisruptionBudget", "gateway", metadata("annotations", RELEASE, "7"),
        RELEASE, "say their release",
    ),
    Hostile(
        "previous lane", "Deployment", "gateway", metadata("annotations", PREVIOUS_LANE, "blue"),
        PREVIOUS_LANE, "says its previous lane",
    ),
    Hostile(
        "epoch as a label", "Deployment", "gateway", metadata("labels", EPOCH, "7"),
        EPOCH, "the other marks are annotations",
    ),
    Hostile(
        "role of pods", "Deployment", "gateway",
        lambda item, other: item["spec"]["template"]["metadata"]["labels"].update({ROLE: "stable"}),
        ROLE, "no pod carries a mark",
    ),
]  # fmt: skip
PODS = [
    pod("account", sets(serviceAccountName="rollout"), "account", "no API token"),
    pod("token", sets(automountServiceAccountToken=True), "account", "no API token"),
    pod("projected token", volume(projected=TOKEN), "projects a serviceAccountToken", "projects"),
    pod("rank", sets(priorityClassName="system-node-critical"), "evict", "evict"),
    pod("priority", sets(priority=1000), "evict", "evict"),
    placed("nodeName", "elsewhere"),
    placed("nodeSelector", {"kubernetes.io/os": "linux"}),
    placed("tolerations", [{"operator": "Exists"}]),
    placed("runtimeClassName", "other"),
    placed("schedulerName", "other"),
    placed("affinity", {"nodeAffinity": {}}),
    pod("links", sets(enableServiceLinks=True), "enableServiceLinks", "its environment"),
    pod("disk", volume(emptyDir={}), "no sizeLimit", "an emptyDir one of size"),
    pod("anybody", lambda spec: spec["securityContext"].pop("runAsUser"), NUMBERED, NUMBERED),
    container("tag", by_tag, "by digest", "its digest"),
    container("root", writable, "write to its root", "write to its root"),
    container("greed", lambda one: one["resources"].pop("limits"), "memory limit", "a limit"),
    container("stealth", lambda one: one["resources"].pop("requests"), "requests no", "requests"),
    container("blind", lambda one: one.pop("livenessProbe"), "livenessProbe", "three probes"),
]
LABELS = [
    Hostile(
        "label", "Deployment", "gateway",
        lambda item, other: item["metadata"]["labels"].update(app="tickets"),
        "metadata.labels.app is 'tickets', not gateway", "labelled with the app and the lane",
    ),
    Hostile(
        "budget of the other lane", "PodDisruptionBudget", "gateway",
        lambda item, other: item["spec"]["selector"]["matchLabels"].update(lane=other),
        "selector.matchLabels.lane", OWN,
    ),
    Hostile(
        "budget of another part", "PodDisruptionBudget", "gateway",
        lambda item, other: item["spec"]["selector"]["matchLabels"].update(app="tickets"),
        "selector.matchLabels.app", OWN,
    ),
]  # fmt: skip
HOSTILE = [*SERVICES, *MARKED, *PODS, *LABELS]


def attempt(objects: list[Manifest], one: Hostile, lane: str, other: str) -> Manifest:
    """The object of `objects` (a lane's, changed in place) that `one` is about."""
    name = f"{one.part}-{lane}"
    (item,) = [x for x in objects if (x["kind"], x["metadata"]["name"]) == (one.kind, name)]
    one.change(item, other)
    item["metadata"]["name"] = item["metadata"]["name"].replace("LANE", lane)
    return item
