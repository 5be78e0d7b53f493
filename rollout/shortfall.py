"""What a lane lacks that is needed: pods where it serves or stands by, and its Service. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rollout.finding import Finding
from rollout.names import Names
from rollout.observation import Lane
from rollout.state import Serving, State


def needed(state: State, now: float) -> list[Serving]:
    """The releases whose lanes must be up: what serves, and what stands by for an undo.

    A lane that a candidate has is its phases' business.
    """
    candidate = state.candidate.lane if state.candidate else ""
    releases = [state.serving]
    if state.retained is not None and state.retire_at is not None and now < state.retire_at:
        releases.append(state.retained)
    return [release for release in releases if release.lane != candidate]


def at_zero(lane: Lane) -> list[str]:
    """The parts that somebody scaled to 0."""
    return [name for name, part in lane.parts.items() if not part.replicas]


def shortfalls(state: State, lanes: Mapping[str, Lane], names: Names, now: float) -> list[Finding]:
    """A finding for each thing that is missing."""
    found: list[Finding] = []
    for release in needed(state, now):
        lane = lanes.get(release.lane, Lane())
        found += _pods(release.lane, lane, names, release == state.serving)
    for name, lane in lanes.items():
        if lane.parts and not lane.entrance:
            found.append(no_entrance(name, names))
    return found


def _pods(name: str, lane: Lane, names: Names, serves: bool) -> Iterator[Finding]:
    where, role = f"lane {name}", "it serves" if serves else "it stands by for an undo"
    zero, pods = at_zero(lane), f"kubectl -n {names.lanes} get pods -l lane={name}"
    if zero:
        parts = ", ".join(zero)
        remedy = "the controller scales them up; if they stay, look at its log"
        yield Finding("size", where, f"{role} with {parts} at 0 replicas", remedy)
    elif names.app not in lane.parts:
        remedy = "`rollout undo --to-revision N` starts a recorded release"
        yield Finding("parts", where, f"{role} without a Deployment of {names.app}", remedy)
    elif not lane.answers(names.app):
        part = lane.parts[names.app]
        what = f"{role} without a Ready {names.app} (0 of {part.replicas})"
        yield Finding("pods", where, what, f"look at `{pods}`")


def no_entrance(lane: str, names: Names) -> Finding:
    """The Service of a lane is missing by which scenarios meet it."""
    remedy = (
        f"`kubectl -n {names.lanes} expose deployment {names.app}-{lane} "
        f"--name {names.entrance(lane)} --port {names.port} --target-port {names.admin_port}`"
    )
    what = f"it is missing in {names.lanes}, so no scenario reaches the lane"
    return Finding("entrance", f"Service {names.entrance(lane)}", what, remedy)
