"""Look at the cluster once: what `decide` needs to know."""

from __future__ import annotations

from functools import partial
from typing import Any

from rollout import lanes, sequences
from rollout.cluster import Api
from rollout.names import STAGING, Names
from rollout.observation import Job, Observation, Shelved, Traffic
from rollout.plan import Plan
from rollout.services import Services
from rollout.state import Ended


def look(
    api: Api,
    names: Names,
    plan: Plan,
    *,
    traffic: Traffic | None = None,
    jobs: tuple[Job, ...] = (),
    recorded: frozenset[Ended] = frozenset(),
    shelf: tuple[Shelved, ...] = (),
) -> tuple[Observation, Services]:
    """The world as it is; the Services also as the API server gave them, for the next write."""
    reads: list[Any] = [partial(sequences.read, api, names), *lanes.reads(api, names)]
    if names.staging:
        reads.append(partial(lanes.replicas, api, names.staging, STAGING))
    services, deployments, pods, present, *staging = api.together(reads)
    seen_roles, seen_slots = services.view(names)
    observation = Observation(
        plan=plan,
        roles=seen_roles,
        slots=seen_slots,
        lanes=lanes.observed(names, deployments, pods, present),
        staging=sum(sum(parts.values()) for parts in staging),
        jobs=jobs,
        traffic=traffic or Traffic(),
        recorded=recorded,
        shelf=shelf,
    )
    return observation, services
