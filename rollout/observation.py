"""What the cluster, the samples and the running jobs say, at one moment."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from rollout.candidate import Size
from rollout.finding import Finding
from rollout.plan import Plan
from rollout.state import Ended


class JobKind(StrEnum):
    """Work that takes longer than one turn of the loop."""

    EXAMINE = "examine"
    REHEARSE = "rehearse"
    SCENARIOS = "scenarios"


@dataclass(frozen=True, slots=True)
class Role:
    """A role Service: the lane it selects and the epoch of its last writer."""

    lane: str
    epoch: int
    release: int | None = None
    previous_lane: str = ""


@dataclass(frozen=True, slots=True)
class Slot:
    """A slot: the role Service it names and the epoch of its last writer."""

    service: str
    epoch: int


@dataclass(frozen=True, slots=True)
class Part:
    """One Deployment of a lane. `settled`: its pods are all of the newest template and Ready."""

    replicas: int
    ready: int
    settled: bool
    epoch: int = 0


@dataclass(frozen=True, slots=True)
class Lane:
    """A lane by part (`gateway`, `pipeline` …). `release` is None for an empty or mixed one."""

    release: int | None = None
    parts: dict[str, Part] = field(default_factory=dict)
    restarts: int = 0
    trouble: str = ""
    """Why a pod is not Ready, in the kubelet's words; empty if nothing is wrong."""
    entrance: bool = True
    """Whether its Service is there, by which scenarios meet it."""

    @property
    def settled(self) -> bool:
        """Whether every part runs and is Ready."""
        return bool(self.parts) and all(p.settled and p.replicas for p in self.parts.values())

    @property
    def size(self) -> int:
        """Replicas of all parts together."""
        return sum(part.replicas for part in self.parts.values())

    def below(self, sizes: dict[str, int]) -> bool:
        """Whether a part has fewer replicas than wanted; a lane with a share is never shrunk."""
        return any(self.parts[name].replicas < n for name, n in sizes.items() if name in self.parts)

    def differs(self, sizes: dict[str, int]) -> bool:
        """Whether a part has other replicas than wanted."""
        known = {name: part.replicas for name, part in self.parts.items()}
        return any(known.get(name, n) != n for name, n in sizes.items())

    def answers(self, app: str) -> bool:
        """Whether a pod of the part `app` is Ready and stays: not one that was scaled to 0."""
        return app in self.parts and self.parts[app].replicas > 0 < self.parts[app].ready

    def runs(self, app: str) -> bool:
        """Whether it can serve now: every part is wanted and has a Ready pod.

        Not one that has just been scaled to 0, whose pods are Ready until they
        end. One pod a part is enough: an undo must not wait for a lost node.
        """
        return app in self.parts and all(p.replicas and p.ready for p in self.parts.values())


@dataclass(frozen=True, slots=True)
class Shelved:
    """A release's record, as far as keeping it goes. `promoted_at`: None if it never served."""

    number: int
    promoted_at: float | None
    predecessor: int | None


@dataclass(frozen=True, slots=True)
class Job:
    """The state of one job of one release. `why` is one line for people."""

    kind: JobKind
    number: int
    done: bool = False
    passed: bool = False
    why: str = ""
    contains: str = ""
    """EXAMINE: a held commit that this one still contains unreverted; else empty."""
    sizes: dict[str, Size] = field(default_factory=dict)
    """EXAMINE: replicas by part."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """What customers sent since the step began, and the verdict on it.

    `rate` is requests a second of both lanes together, measured over the last minute.
    """

    rate: float = 0.0
    candidate: int = 0
    stable: int = 0
    kind: str = "inconclusive"
    why: str = "no samples"
    figures: dict[str, dict[str, float]] = field(default_factory=dict)
    """The verdict's figures by lane: `candidate` and `stable`."""
    discards: str = ""
    """What both lanes threw away, or why that is not known."""
    findings: tuple[Finding, ...] = ()
    """What the candidate throws away more than the serving lane."""


@dataclass(frozen=True, slots=True)
class Observation:
    """One look at the world. `names` of Services are as in the cluster."""

    plan: Plan
    roles: dict[str, Role] = field(default_factory=dict)
    slots: dict[str, Slot] = field(default_factory=dict)
    lanes: dict[str, Lane] = field(default_factory=dict)
    staging: int = 0
    """Replicas of all parts of staging together."""
    jobs: tuple[Job, ...] = ()
    traffic: Traffic = Traffic()
    recorded: frozenset[Ended] = frozenset()
    """Verdicts that this process has written into the records."""
    shelf: tuple[Shelved, ...] = ()
    """The records, in a quiet time of the controller; else, and in a terminal, none."""

    def job(self, kind: JobKind, number: int) -> Job | None:
        """The job of this kind for this release, if it was started here."""
        found = [job for job in self.jobs if job.kind is kind and job.number == number]
        return found[0] if found else None

    def lane(self, name: str) -> Lane:
        """A lane, empty if nothing of it exists."""
        return self.lanes.get(name, Lane())

    @property
    def epoch(self) -> int:
        """The newest epoch that any object carries."""
        marked: list[Role | Slot | Part] = [*self.roles.values(), *self.slots.values()]
        marked += [part for lane in self.lanes.values() for part in lane.parts.values()]
        return max((item.epoch for item in marked), default=0)
