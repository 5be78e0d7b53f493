"""The wish (which components should run, and how) that the supervisor fulfils."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace

from deploy.cluster import components, files
from deploy.cluster.components import Component
from deploy.cluster.errors import ClusterError
from deploy.cluster.processes import Process, alive
from deploy.cluster.topology import Cluster


def supervisor(cluster: Cluster) -> Process | None:
    """The running supervisor, if there is one."""
    with suppress(FileNotFoundError, ValueError, TypeError):
        process = Process(**json.loads((cluster.run / "supervisor.json").read_text()))
        return process if alive(process) else None
    return None


def read_wish(cluster: Cluster) -> list[Component]:
    """The present wish. Raises ClusterError if the cluster was never brought up."""
    try:
        return components.loads((cluster.run / "components.json").read_text())
    except FileNotFoundError as error:
        raise ClusterError(
            f"cluster {cluster.name} is not up; run `python -m deploy.cluster up`"
        ) from error


def write_wish(cluster: Cluster, items: list[Component]) -> None:
    """Replace the wish, keeping the turns of components that are already in it."""
    path = cluster.run / "components.json"
    turns = {item.name: item.turn for item in read_wish(cluster)} if path.exists() else {}
    text = components.dumps([replace(i, turn=max(i.turn, turns.get(i.name, 0))) for i in items])
    files.write(path, text)
