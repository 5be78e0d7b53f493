"""Carry out one action. Every branch is idempotent; policy is in `decide`, not here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from rollout import actions, business, examination, examine, lanes, records
from rollout.git import Repository
from rollout.jobs import Handle, Jobs
from rollout.mover import Mover, NoRecord
from rollout.observation import Job, JobKind
from rollout.rehearsal import Rehearsal
from rollout.secrets import Tokens
from rollout.services import Services
from rollout.settings import Settings
from rollout.shelf import Shelf
from rollout.staged import staged
from rollout.state import State

REHEARSAL_TRIES = 2


@dataclass(kw_only=True)
class Performer(Mover):
    """What needs the git clone and the scenarios too. The settings follow the admin's edits."""

    jobs: Jobs
    folder: Path
    checks: list[examine.Check]
    settings: Settings = field(default_factory=Settings)
    signers: str = ""
    shelf: Shelf = field(init=False)

    def __post_init__(self) -> None:
        self.shelf = Shelf(self.api, self.names)

    def perform(self, action: actions.Action, found: Services) -> None:
        """Start the job, or do what a terminal could do too."""
        match action:
            case actions.Examine():
                self.jobs.start(JobKind.EXAMINE, action.number, self._examine(action.after))
            case actions.Rehearse():
                self.jobs.start(JobKind.REHEARSE, action.number, self._rehearse(action.after))
            case actions.RunScenarios():
                self.jobs.start(JobKind.SCENARIOS, action.number, self._scenarios(action.after))
            case actions.Forget():
                self.shelf.forget(action.numbers)
            case actions.Record():
                super().perform(action, found)
                self.shelf.changed()
            case _:
                super().perform(action, found)

    def repository(self) -> Repository:
        """The clone of the repository that the settings name."""
        return Repository(self.settings.git_url, self.folder / "repository.git")

    def _examine(self, state: State) -> Callable[[Handle], Job]:
        candidate, serving = state.candidate, state.serving.number
        assert candidate is not None

        def work(handle: Handle) -> Job:
            base = self.record(serving)
            subject = examine.Subject(candidate, base, state.held, self.settings, self.signers)
            job, record = examine.examine(
                self.repository(),
                subject,
                checks=self.checks,
                say=handle.say,
            )
            handle.say("writing the record")
            records.save(self.api, self.names, record)
            return job

        return work

    def _rehearse(self, state: State) -> Callable[[Handle], Job]:
        candidate, serving = state.candidate, state.serving.number
        assert candidate is not None

        def work(handle: Handle) -> Job:
            number = candidate.number
            if not self.names.staging:
                return Job(JobKind.REHEARSE, number, done=True, passed=True, why="no staging here")
            handle.say("staging: rendering")
            manifests = staged(self.repository(), candidate.commit)
            texts = examination.chosen(self.record(serving), self.record(number))
            results: list[Job] = []

            def play(address: str) -> None:
                results.append(
                    business.judge(
                        JobKind.REHEARSE,
                        number,
                        texts,
                        address,
                        Tokens(self.api, self.names).of,
                        handle,
                        runs=self.settings.rehearsal_runs,
                        limits=self.settings.rehearsal_limits,
                        tries=REHEARSAL_TRIES,
                    )
                )

            stage = Rehearsal(self.api, self.names, manifests, number, state.epoch)
            stage.hold(handle, self.settings.plan.start_max_s, play)
            return results[0]

        return work

    def _scenarios(self, state: State) -> Callable[[Handle], Job]:
        candidate, serving = state.candidate, state.serving.number
        assert candidate is not None

        def work(handle: Handle) -> Job:
            texts = examination.chosen(self.record(serving), self.record(candidate.number))
            address = lanes.address(self.api, self.names.lanes, f"lane-{candidate.lane}")
            if address is None:
                raise NoRecord(f"Service lane-{candidate.lane} is missing: add it to the overlay")
            return business.judge(
                JobKind.SCENARIOS,
                candidate.number,
                texts,
                address,
                Tokens(self.api, self.names).of,
                handle,
                limits=self.settings.scenario_limits,
            )

        return work
