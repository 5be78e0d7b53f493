"""What of the cluster is running, for a person or as JSON."""

from __future__ import annotations

from dataclasses import dataclass

from deploy.cluster import processes
from deploy.cluster.api import Api
from deploy.cluster.records import read_records
from deploy.cluster.topology import Cluster
from deploy.cluster.wish import read_wish, supervisor


@dataclass(frozen=True)
class ComponentState:
    """One component: `running` means alive, and as the present wish describes it."""

    name: str
    running: bool
    pid: int | None
    restarts: int
    log: str


@dataclass(frozen=True)
class Status:
    name: str
    supervised: bool
    api_ready: bool
    node_ready: bool
    kubeconfig: str
    api: str
    registry: str
    components: list[ComponentState]

    @property
    def healthy(self) -> bool:
        everything = all(component.running for component in self.components)
        return self.supervised and self.api_ready and self.node_ready and everything


def component_states(cluster: Cluster) -> list[ComponentState]:
    """State of every wanted component. Raises ClusterError if the cluster is not up."""
    records = read_records(cluster.run)
    states = []
    for item in read_wish(cluster):
        record = records.get(item.name)
        alive = record is not None and processes.alive(record.process)
        fits = record is not None and (record.stamp, record.turn) == (item.stamp, item.turn)
        states.append(
            ComponentState(
                name=item.name,
                running=alive and fits,
                pid=record.process.pid if record and alive else None,
                restarts=record.restarts if record else 0,
                log=str(cluster.logs / f"{item.name}.log"),
            )
        )
    return states


def status(cluster: Cluster) -> Status:
    """The whole state. Raises ClusterError if the cluster is not up."""
    states = component_states(cluster)
    client = Api(cluster)
    return Status(
        name=cluster.name,
        supervised=supervisor(cluster) is not None,
        api_ready=client.ready(),
        node_ready=node_ready(cluster, client),
        kubeconfig=str(cluster.kubeconfig),
        api=cluster.api_url,
        registry=cluster.registry,
        components=states,
    )


def node_ready(cluster: Cluster, client: Api) -> bool:
    """Whether the kubelet that runs now has said that the node is Ready."""
    kubelet = read_records(cluster.run).get("kubelet")
    return kubelet is not None and client.node_ready(
        cluster.name, processes.started(kubelet.process)
    )


def render(state: Status) -> str:
    """The status as lines for a person."""
    lines = [
        f"cluster     {state.name}: {'healthy' if state.healthy else 'NOT healthy'}",
        f"kubeconfig  {state.kubeconfig}",
        f"API         {state.api} ({'ready' if state.api_ready else 'not ready'})",
        f"registry    {state.registry}",
        f"node        {'Ready' if state.node_ready else 'not Ready'}",
    ]
    if not state.supervised:
        lines.append("supervisor  not running; `python -m deploy.cluster up` starts it")
    for item in state.components:
        place = f"pid {item.pid}" if item.pid else f"not running; read {item.log}"
        again = f", restarted {item.restarts} times" if item.restarts else ""
        lines.append(f"  {item.name:<24}{place}{again}")
    return "\n".join(lines)
