"""The status as plain data and as lines for people. Pure."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Any

from rollout.candidate import Candidate
from rollout.finding import Finding
from rollout.names import Names
from rollout.observation import Lane, Observation, Role, Slot
from rollout.shortfall import shortfalls
from rollout.slots import WEIGHTS
from rollout.state import State

Data = dict[str, Any]


def status(
    state: State,
    roles: dict[str, Role],
    slots: dict[str, Slot],
    lanes: dict[str, Lane],
    names: Names,
    now: float,
) -> Data:
    """What is true now, from the journal and the objects."""
    by_lane = {name: role.lane for name, role in roles.items()}
    shares = dict.fromkeys(lanes, 0)
    for index, weight in enumerate(WEIGHTS):
        slot = slots.get(f"{names.slot_prefix}{index}")
        lane = by_lane.get(slot.service, "") if slot else ""
        shares[lane] = shares.get(lane, 0) + weight
    return {
        "epoch": state.epoch,
        "serving": asdict(state.serving),
        "previous": asdict(state.previous) if state.previous else None,
        "retained": asdict(state.retained) if state.retained else None,
        "undo_window_left_s": max(0, round(state.undo_until - now)) if state.undo_until else 0,
        "candidate": _candidate(state.candidate, now) if state.candidate else None,
        "restore": asdict(state.restore) if state.restore else None,
        "queue": asdict(state.queue) if state.queue else None,
        "held": {commit: asdict(held) for commit, held in state.held.items()},
        "said": state.said,
        "roles": by_lane,
        "lookups_percent": shares,
        "lanes": {name: _lane(lane) for name, lane in lanes.items()},
        "findings": [asdict(one) for one in shortfalls(state, lanes, names, now)],
    }


def with_traffic(data: Data, seen: Observation, why: str) -> Data:
    """The status and what only the controller knows: the samples and what it waits for."""
    traffic = asdict(seen.traffic)
    total = seen.traffic.candidate + seen.traffic.stable
    share = round(100 * seen.traffic.candidate / total, 1) if total else None
    return {**data, "doing": why, "traffic": {**traffic, "measured_percent": share}}


def lines(data: Data) -> list[str]:
    """The status for a person, in under 80 columns where it can."""
    serving, candidate = data["serving"], data["candidate"]
    since = time.strftime("%H:%M:%S", time.localtime(serving["since"]))
    what = serving["commit"][:12] if serving["commit"] else "applied by an admin"
    out = [f"serving    release {serving['number']} on {serving['lane']} since {since} ({what})"]
    if data["undo_window_left_s"]:
        previous = data["previous"]
        out.append(
            f"undo to    release {previous['number']} on {previous['lane']}, "
            f"at hand for {data['undo_window_left_s']} s"
        )
    if candidate:
        out += _candidate_lines(candidate, data.get("traffic"))
    if data["restore"]:
        out.append(f"undo       to release {data['restore']['number']}: its pods are starting")
    if data["queue"]:
        out.append(f"waiting    {data['queue']['commit'][:12]} from {data['queue']['by']}")
    for lane, one in data["lanes"].items():
        parts = ", ".join(f"{name} {part}" for name, part in one["parts"].items()) or "empty"
        share = data["lookups_percent"].get(lane, 0)
        trouble = f"  {one['trouble']}" if one["trouble"] else ""
        out.append(f"lane       {lane:6} {share:3} %  release {one['release']}: {parts}{trouble}")
    for one in [*data["findings"], *data.get("traffic", {}).get("findings", [])]:
        out.append(f"finding    {Finding(**one)}")
    out.append(f"now        {data.get('doing') or data['said'] or 'at rest'}")
    return out


def _candidate_lines(candidate: Data, traffic: Data | None) -> list[str]:
    steps = ", ".join(str(step) for step in candidate["steps"]) or "not yet planned"
    out = [
        f"candidate  release {candidate['number']} on {candidate['lane']} "
        f"({candidate['commit'][:12]}): {candidate['phase']} for {candidate['for_s']} s",
        f"split      {candidate['split']} % (steps {steps})",
    ]
    if traffic and traffic["measured_percent"] is not None:
        out.append(
            f"measured   {traffic['measured_percent']} % of requests; {traffic['kind']}: "
            f"{traffic['why']}"
        )
    if traffic and traffic.get("discards"):
        out.append(f"discarded  {traffic['discards']}")
    if candidate["hold"]:
        out.append(f"held       {candidate['hold']['why']}")
    return out


def _candidate(candidate: Candidate, now: float) -> Data:
    data = asdict(candidate)
    return {**data, "for_s": round(now - candidate.since)}


def _lane(lane: Lane) -> Data:
    parts = {name: f"{part.ready}/{part.replicas}" for name, part in lane.parts.items()}
    return {
        "release": lane.release,
        "parts": parts,
        "restarts": lane.restarts,
        "trouble": lane.trouble,
    }
