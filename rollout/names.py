"""The names that the controller and the manifests agree on."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields

from rollout.errors import RolloutError

EPOCH = "switchyard/epoch"
"""Annotation on slots, roles and Deployments: the epoch of their last writer."""
RELEASE = "switchyard/release"
"""Annotation: the number of the release that a Deployment or the stable Service stands for."""
PREVIOUS_LANE = "switchyard/previous-lane"
"""Annotation on the stable Service: where an undo goes if the journal cannot be read."""
WANTED_REPLICAS = "switchyard/replicas"
"""Annotation on a lane's Deployment: its wanted size in that overlay."""
ROLE = "switchyard/role"
"""Label of role Services: `stable` or `candidate`."""
MANAGER = "rollout"
"""The field manager of every write to roles, slots, replicas, journal and records."""
LANE_MANAGER = "rollout-lane"
"""The field manager of lane manifests, which also bootstraps the first lane."""
LANES = ("blue", "green")
STAGING = "staging"
"""The lane label of the rehearsal."""


class BadNames(RolloutError):
    """Names that cannot be used."""


@dataclass(frozen=True)
class Names:
    """Where things are. The defaults are production's; tests use namespaces of their own."""

    lanes: str = "switchyard"
    slots: str = "switchyard-slots"
    control: str = "switchyard-rollout"
    staging: str = "switchyard-staging"
    """Namespace of the rehearsal; empty for none."""
    domain: str = "cluster.local"
    app: str = "gateway"
    """Label `app` of the pods that answer clients."""
    port: int = 80
    target_port: int = 8080
    admin_port: int = 8081
    tracing: str = "switchyard-tracing"
    """Namespace of the tracing agents; empty: they are not asked."""
    tracing_port: int = 9102
    stable: str = "assistant-stable"
    candidate_prefix: str = "assistant-c"
    slot_prefix: str = "s"
    journal: str = "journal"
    settings: str = "rollout-settings"
    trust: str = "trust"
    lease: str = "rollout"

    def candidate(self, number: int) -> str:
        """The client Service of release `number`, such as `assistant-c17`."""
        return f"{self.candidate_prefix}{number}"

    def candidate_number(self, service: str) -> int | None:
        """The release whose client Service this is; None for another Service."""
        text = service.removeprefix(self.candidate_prefix)
        number = int(text) if text.isdecimal() else None
        return number if number is not None and self.candidate(number) == service else None

    def host(self, service: str) -> str:
        """The name that a slot's `externalName` carries for a role Service."""
        return f"{service}.{self.lanes}.svc.{self.domain}"

    def service_of(self, host: str) -> str:
        """The role Service in a slot's `externalName`; the whole name if it is foreign."""
        return host.removesuffix(self.host(""))

    def record(self, number: int) -> str:
        """The ConfigMap that records release `number`."""
        return f"release-{number}"

    def entrance(self, lane: str) -> str:
        """The Service by which scenarios meet one lane, whatever the split."""
        return f"lane-{lane}"

    def lane_url(self, lane: str) -> str:
        """Where scenarios meet one lane, whatever the split."""
        return f"http://{self.entrance(lane)}.{self.lanes}.svc.{self.domain}:{self.port}"

    def staging_url(self) -> str:
        """Where the rehearsal's scenarios meet staging."""
        return f"http://lane-staging.{self.staging}.svc.{self.domain}:{self.port}"


def other_lane(lane: str) -> str:
    """The lane that does not have this one's name."""
    return LANES[1] if lane == LANES[0] else LANES[0]


def from_environment(text: str | None) -> Names:
    """The names in $ROLLOUT_NAMES (a JSON object of fields), else production's."""
    if not text:
        return Names()
    try:
        return Names(**json.loads(text))
    except (ValueError, TypeError) as error:
        known = ", ".join(field.name for field in fields(Names))
        raise BadNames(f"ROLLOUT_NAMES: {error}: give a JSON object of {known}") from None
