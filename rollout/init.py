"""`rollout init`: hand a lane that an admin applied over to the controller. Idempotent."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from rollout import journal, lanes, manifests, records, sequences
from rollout.cluster import Api, Object, apps, core
from rollout.codec import BadJournal
from rollout.errors import Conflict, RolloutError
from rollout.names import EPOCH, LANE_MANAGER, LANES, RELEASE, Names
from rollout.records import Record
from rollout.services import Services
from rollout.state import Serving, State, Times
from rollout.wanted import wanted

CANARY, PROD = "canary", "prod"


class CannotInit(RolloutError):
    """The lane is not there or not Ready."""


def init(
    api: Api,
    names: Names,
    lane: str,
    canary: list[Object],
    prod: list[Object],
    scenarios: dict[str, str],
    say: Callable[[str], None],
) -> State:
    """Journal, first record, roles and slots, each only where absent.

    `canary` and `prod`: the rendered overlays of `lane`, which must be
    applied and Ready. An unreadable journal is made anew from the Services
    and the records.
    """
    state = _existing(api, names)
    if state is None:
        state = _first(api, names, lane, say)
        _mark(api, names, state)
        if records.read(api, names, state.serving.number) is None:
            records.save(api, names, _record(state, lane, canary, prod, scenarios))
            say(f"record of release {state.serving.number}")
        journal.create(api, names, state)
        say(f"journal: release {state.serving.number} serves on {state.serving.lane}")
    found = sequences.read(api, names)
    moved = _make_services(api, names, found, state)
    say(f"{moved} Services made" if moved else "nothing to do: roles and slots are there")
    return state


def _existing(api: Api, names: Names) -> State | None:
    try:
        return journal.read(api, names)[0]
    except journal.NoJournal:
        return None
    except BadJournal:
        api.delete(core(names.control, "configmaps", names.journal))
        return None


def _first(api: Api, names: Names, lane: str, say: Callable[[str], None]) -> State:
    """The state that the Services and records tell, or a very first one."""
    found = sequences.read(api, names)
    roles, slots = found.view(names)
    epochs = [role.epoch for role in roles.values()] + [slot.epoch for slot in slots.values()]
    running = lanes.observe(api, names)
    epochs += [part.epoch for one in running.values() for part in one.parts.values()]
    history = records.history(api, names)
    lane = roles[names.stable].lane if names.stable in roles else lane
    seen = running[lane]
    if not seen.settled:
        raise CannotInit(
            f"lane {lane} is not Ready ({seen.trouble or 'no Deployment'}): apply "
            f"deploy/overlays/prod/{lane} and wait for it first"
        )
    number = seen.release or (history[-1].number + 1 if history else 1)
    commits = {record.number: record.commit for record in history}
    last = max([number, *commits])
    clients = (names.candidate_number(name) for name in roles)
    if history:
        say(f"rebuilding the journal from {len(history)} records")
    return State(
        epoch=max(epochs, default=0) + 1,
        serving=Serving(number, lane, commits.get(number), time.time()),
        next_number=last + 1,
        # A client may hold its address: it stays as long as after a split.
        services={n: time.time() + Times().prune_s for n in clients if n is not None},
    )


def _mark(api: Api, names: Names, state: State) -> None:
    """Say on the serving lane's Deployments which release they are."""
    serving = state.serving
    for one in api.items(apps(names.lanes), f"lane={serving.lane}"):
        mark = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {
                "name": one["metadata"]["name"],
                "annotations": {RELEASE: str(serving.number), EPOCH: str(state.epoch)},
            },
        }
        # Its own manager: an apply by the lanes' manager would give up all other fields.
        path = apps(names.lanes, one["metadata"]["name"])
        api.apply(path, mark, f"{LANE_MANAGER}-init", force=True)


def _record(
    state: State,
    lane: str,
    canary: list[Object],
    prod: list[Object],
    scenarios: dict[str, str],
) -> Record:
    """The record of what an admin applied: no commit, promoted by the admin's own hand."""
    found = manifests.for_lane(canary, lane)
    return Record(
        number=state.serving.number,
        lane=lane,
        created=time.time(),
        subject="applied by an admin",
        images=manifests.images(found),
        manifests_sha3=manifests.neutral_hash(found),
        sizes=manifests.sizes(canary, prod),
        scenarios=scenarios,
        verdict="promoted",
        why="applied by an admin",
        verdict_at=time.time(),
        promoted_at=time.time(),
        manifests=found,
    )


def _make_services(api: Api, names: Names, found: Services, state: State) -> int:
    """Roles and slots where absent; present ones are the controller's to move."""
    target = wanted(state, names)
    missing = [name for name in target.roles if name not in found.roles]
    missing += [name for name in target.slots if name not in found.slots]
    if not missing:
        return 0
    kept = Services(
        {name: body for name, body in found.roles.items() if name in target.roles},
        {name: body for name, body in found.slots.items() if name in target.slots},
    )
    with suppress(Conflict):
        moved = sequences.shift(api, names, kept, target, state.epoch, settle=False)
        return moved.roles + moved.slots
    return 0


def overlays(overlay: str) -> tuple[str, str]:
    """The canary and prod overlays of the lane that `overlay` (either of them) names."""
    parts = Path(overlay).parts
    if len(parts) < 2 or parts[-1] not in LANES or parts[-2] not in (CANARY, PROD):
        raise CannotInit(
            f"{overlay}: name the overlay of a lane, such as deploy/overlays/prod/{LANES[0]}"
        )
    top = Path(*parts[:-2])
    return str(top / CANARY / parts[-1]), str(top / PROD / parts[-1])
