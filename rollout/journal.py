"""The journal's place: one ConfigMap, written by compare-and-swap."""

from __future__ import annotations

from rollout.cluster import Api, core
from rollout.errors import RolloutError
from rollout.names import Names
from rollout.state import State, dump, load

KEY = "state.json"


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
