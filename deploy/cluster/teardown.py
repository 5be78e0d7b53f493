"""What a cluster has left on the machine, and the order in which it is taken away (pure)."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from deploy.cluster.processes import Process


@dataclass(frozen=True)
class Remains:
    """Everything on the host that belongs to one cluster. Empty means nothing is left."""

    supervisor: Process | None = None
    processes: list[Process] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    namespaces: list[str] = field(default_factory=list)
    mounts: list[Path] = field(default_factory=list)
    groups: list[Path] = field(default_factory=list)
    state: Path | None = None
    folders: list[Path] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return self != Remains()


@dataclass(frozen=True)
class Kill:
    processes: tuple[Process, ...]


@dataclass(frozen=True)
class Command:
    argv: tuple[str, ...]


@dataclass(frozen=True)
class RemoveGroups:
    """Control groups, the deepest first."""

    folders: tuple[Path, ...]


@dataclass(frozen=True)
class RemoveState:
    folder: Path


@dataclass(frozen=True)
class RemoveEmpty:
    """Folders made by `up`; one that somebody else has filled since stays."""

    folders: tuple[Path, ...]


@dataclass(frozen=True)
class Restore:
    """Kernel settings by their path below /proc/sys."""

    settings: dict[str, str]


Action = Kill | Command | RemoveGroups | RemoveState | RemoveEmpty | Restore


def plan(remains: Remains) -> list[Action]:
    """The actions that take `remains` away.

    The supervisor goes first, or it would start again what is killed. The host's end of
    a wire goes before its namespace, which gives its devices back late. The state
    folder holds the memory of the host as it was, so what needs it comes before.
    """
    actions: list[Action] = []
    if remains.supervisor:
        actions.append(Kill((remains.supervisor,)))
    if remains.processes:
        actions.append(Kill(tuple(remains.processes)))
    actions += [Command(("ip", "link", "delete", name)) for name in remains.links]
    actions += [Command(("ip", "netns", "delete", name)) for name in remains.namespaces]
    actions += [Command(("umount", str(point))) for point in remains.mounts]
    if remains.groups:
        actions.append(RemoveGroups(tuple(remains.groups)))
    if remains.settings:
        actions.append(Restore(dict(remains.settings)))
    if remains.folders:
        actions.append(RemoveEmpty(tuple(remains.folders)))
    if remains.state:
        actions.append(RemoveState(remains.state))
    return actions


def describe(remains: Remains) -> str:
    """One line that names what is left."""
    parts = {
        "processes": [str(p.pid) for p in remains.processes],
        "interfaces": remains.links,
        "network namespaces": remains.namespaces,
        "mounts": [str(m) for m in remains.mounts],
        "control groups": [str(g) for g in remains.groups],
        "folders": [str(f) for f in ([remains.state] if remains.state else []) + remains.folders],
        "kernel settings": list(remains.settings),
    }
    return "; ".join(f"{kind}: {', '.join(names)}" for kind, names in parts.items() if names)
