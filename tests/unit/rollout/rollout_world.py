"""A cluster of dictionaries: what each action does to it, and how to be killed half-way."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from rollout import actions
from rollout.candidate import Phase, Size
from rollout.codec import dump, load
from rollout.decide import decide
from rollout.names import Names
from rollout.observation import Job, JobKind, Lane, Observation, Part, Role, Slot, Traffic
from rollout.plan import Plan
from rollout.state import Push, Serving, State, Times
from rollout.wanted import wanted

NAMES = Names()
WAIT_S = 2.0
A = "a" * 40
"""The commit that a world is about."""
TIMES = Times(undo_window_s=40, drain_s=10)
PLAN = Plan(steps=(1, 20, 50), soak_s=5, step_max_s=60, times=TIMES)
SIZES = {"gateway": Size(1, 3), "pipeline": Size(1, 2)}
GOOD = Traffic(rate=100, candidate=100, stable=5000, kind="pass", why="100 samples")


class Killed(Exception):
    """The process died here."""


def first_state() -> State:
    return State(epoch=1, serving=Serving(1, "blue", None, 0.0), next_number=2, times=TIMES)


def push(commit: str = "a" * 40, at: float = 0.0, **more: bool) -> Push:
    return Push(commit, at, "hook", give_up_undo=more.get("give_up_undo", False))


@dataclass
class World:
    """The journal and the objects; `lives` counts down to a kill, before each effect."""

    journal: str = field(default_factory=lambda: dump(first_state()))
    now: float = 0.0
    roles: dict[str, Role] = field(default_factory=dict)
    slots: dict[str, Slot] = field(default_factory=dict)
    lanes: dict[str, Lane] = field(default_factory=dict)
    jobs: dict[tuple[JobKind, int], Job] = field(default_factory=dict)
    staging: int = 0
    recorded: set[object] = field(default_factory=set)
    records: dict[int, list[str]] = field(default_factory=dict)
    traffic: Traffic = GOOD
    fails: dict[JobKind, str] = field(default_factory=dict)
    contains: str = ""
    lives: int | None = None
    done: list[actions.Action] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.lanes["blue"] = Lane(1, {p: Part(s.prod, s.prod, True) for p, s in SIZES.items()})
        target = wanted(self.state, NAMES)
        self.roles = {n: Role(lane, 1, 1, "") for n, lane in target.roles.items()}
        self.slots = {n: Slot(role, 1) for n, role in target.slots.items()}

    @property
    def state(self) -> State:
        return load(self.journal)

    def write(self, state: State) -> None:
        self.effect()
        self.journal = dump(state)

    def effect(self) -> None:
        """Every change goes through here, so that a kill can come before any of them."""
        if self.lives is not None:
            if self.lives == 0:
                raise Killed
            self.lives -= 1

    def look(self) -> Observation:
        candidate = self.state.candidate
        quiet = candidate is None or not candidate.split
        traffic = replace(self.traffic, kind="inconclusive", candidate=0) if quiet else self.traffic
        return Observation(
            plan=PLAN,
            roles=self.roles.copy(),
            slots=self.slots.copy(),
            lanes=self.lanes.copy(),
            staging=self.staging,
            jobs=tuple(self.jobs.values()),
            traffic=traffic,
            recorded=frozenset(self.recorded),  # type: ignore[arg-type]
        )

    def turn(self) -> actions.Action:
        action = decide(self.state, self.look(), self.now, NAMES)
        if action.after != self.state:
            self.write(action.after)
        self.perform(action)
        self.done.append(action)
        self.now += WAIT_S if isinstance(action, actions.Wait) else 0.01
        return action

    def run(self, turns: int = 400) -> None:
        """Turn until two waits in a row change nothing for longer than the soak."""
        quiet = 0
        for _ in range(turns):
            before = self.journal
            action = self.turn()
            still = isinstance(action, actions.Wait) and before == self.journal
            quiet = quiet + 1 if still else 0
            if quiet > PLAN.step_max_s / WAIT_S + 2:
                return
        raise AssertionError(f"never at rest: {self.done[-5:]}")

    def kill(self) -> None:
        """The next process knows nothing of jobs and of what was recorded."""
        self.jobs.clear()
        self.recorded.clear()
        self.lives = None

    def perform(self, action: actions.Action) -> None:
        match action:
            case actions.Shift():
                self.shift(action)
            case actions.Apply():
                self.check_no_share(action.lane)
                self.effect()
                old = self.lanes.get(action.lane, Lane()).parts
                parts = {p: old.get(p, Part(1, 1, True)) for p in SIZES}
                self.lanes[action.lane] = Lane(action.number, parts)
            case actions.Refill():
                lane = self.lanes[action.lane]
                for part, one in lane.parts.items():
                    if not one.replicas:
                        self.effect()
                        size = SIZES[part].prod
                        lane = replace(lane, parts={**lane.parts, part: Part(size, size, True)})
                self.lanes[action.lane] = lane
            case actions.Scale():
                if 0 in action.replicas.values():
                    self.check_no_share(action.lane)
                for part, replicas in action.replicas.items():
                    self.effect()
                    lane = self.lanes[action.lane]
                    parts = {**lane.parts, part: Part(replicas, replicas, True)}
                    self.lanes[action.lane] = replace(lane, parts=parts)
            case actions.Examine() | actions.Rehearse() | actions.RunScenarios():
                self.job(action)
            case actions.EndRehearsal():
                self.effect()
                self.staging = 0
            case actions.Record():
                self.effect()
                self.records.setdefault(action.ended.number, []).append(action.ended.verdict)
                self.recorded.add(action.ended)
            case actions.Prune():
                for service in action.services:
                    self.effect()
                    self.roles.pop(service, None)

    def job(self, action: actions.Examine | actions.Rehearse | actions.RunScenarios) -> None:
        kinds = {
            actions.Examine: JobKind.EXAMINE,
            actions.Rehearse: JobKind.REHEARSE,
            actions.RunScenarios: JobKind.SCENARIOS,
        }
        kind = kinds[type(action)]
        why = self.fails.get(kind, "")
        contains = self.contains if kind is JobKind.EXAMINE else ""
        self.jobs[kind, action.number] = Job(
            kind, action.number, True, not why, why or "fine", contains, SIZES
        )

    def shift(self, action: actions.Shift) -> None:
        target = wanted(action.after, NAMES)
        epoch = action.after.epoch
        for name, lane in target.roles.items():
            self.effect()
            self.roles[name] = Role(lane, epoch, target.release, target.previous_lane)
        for name, role in target.slots.items():
            self.effect()
            assert self.lanes[self.roles[role].lane].answers("gateway"), "a slot without a pod"
            self.slots[name] = Slot(role, epoch)

    def check_no_share(self, lane: str) -> None:
        used = {slot.service for slot in self.slots.values()} | {NAMES.stable}
        assert lane not in {self.roles[role].lane for role in used}, "the lane has a share"


def running(commit: str = A) -> World:
    """A world with one push in the queue."""
    world = World()
    world.write(replace(world.state, queue=push(commit)))
    return world


def until(world: World, phase: Phase, split: int | None = None) -> World:
    """Turn until the candidate is there."""
    for _ in range(300):
        candidate = world.state.candidate
        if candidate and candidate.phase is phase and split in (None, candidate.split):
            return world
        world.turn()
    raise AssertionError(f"never in {phase}")


def promoted_world() -> World:
    """Release 2 serves on green, and release 1 stands by on blue."""
    world = running()
    for _ in range(400):
        world.turn()
        if world.state.serving.commit == A and not world.state.ended:
            return world
    raise AssertionError("never promoted")
