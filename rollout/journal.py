"""The journal's place: one ConfigMap, written by compare-and-swap."""

from __future__ import annotations

from collections.abc import Callable

from rollout.cluster import Api, core
from rollout.codec import dump, load
from rollout.edit import Edit
from rollout.errors import Conflict, RolloutError
from rollout.names import Names
from rollout.state import State

KEY = "state.json"
ATTEMPTS = 5


class NoJournal(RolloutError):
    """There is none: the cluster was never initialised, or it was deleted."""


def read(api: Api, names: Names) -> tuple[State, str]:
    """The state and its version. Raises NoJournal, BadJournal."""
    found = api.get(core(names.control, "configmaps", names.journal))
    if found is None:
        raise NoJournal(
            f"no journal in namespace {names.control}: an admin runs `rollout init` first"
        )
    return load(found.get("data", {}).get(KEY, "")), found["metadata"]["resourceVersion"]


def write(api: Api, names: Names, state: State, version: str) -> str:
    """Replace the journal if it still has `version`; the new version. Raises Conflict."""
    path = core(names.control, "configmaps", names.journal)
    written = api.replace(path, _body(names, state, version))
    return str(written["metadata"]["resourceVersion"])


def commit(api: Api, names: Names, before: State, after: State, version: str) -> None:
    """Write `after` if it differs; make sure that the journal still has `version`. Raises Conflict.

    Made after a look at the objects and before they are written: what is written then
    follows the journal of a moment at which the objects were as seen.
    """
    if after != before:
        write(api, names, after, version)
        return
    found = api.get(core(names.control, "configmaps", names.journal))
    if found is None or found["metadata"]["resourceVersion"] != version:
        raise Conflict(409, "the journal was written since it was read")


def edit(api: Api, names: Names, change: Callable[[State], Edit]) -> Edit:
    """Read, change and write; again if somebody else wrote meanwhile. Raises Conflict at last."""
    for attempt in range(ATTEMPTS):
        state, version = read(api, names)
        wish = change(state)
        if wish.state is None:
            return wish
        try:
            write(api, names, wish.state, version)
            return wish
        except Conflict:
            if attempt == ATTEMPTS - 1:
                raise
    raise AssertionError("the last attempt returns or raises")


def create(api: Api, names: Names, state: State) -> None:
    """Write the first journal. Raises Conflict if there is one."""
    api.create(core(names.control, "configmaps"), _body(names, state, None))


def _body(names: Names, state: State, version: str | None) -> dict[str, object]:
    metadata = {"name": names.journal, "namespace": names.control}
    if version is not None:
        metadata["resourceVersion"] = version
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata,
        "data": {KEY: dump(state)},
    }
