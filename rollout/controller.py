"""The loop around `decide`: read the journal, look, decide, journal, act."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from rollout import actions, journal, settings, watcher
from rollout.alignment import followed
from rollout.cluster import Api, core
from rollout.codec import BadJournal
from rollout.decide import decide
from rollout.discardsource import DiscardSource
from rollout.errors import ApiError, ApiUnavailable, Conflict, RolloutError, Superseded
from rollout.lease import Lease
from rollout.names import Names
from rollout.perform import Performer
from rollout.picture import Picture
from rollout.samplesource import SampleSource
from rollout.state import State
from rollout.traffic import traffic

log = logging.getLogger("rollout")

BUSY_S = 0.15
AGAIN_S = 0.03
QUIET_S = 1.0
COURTESY_S = 0.5
SETTINGS_S = 2.0
MAX_PAUSE_S = 2.0


@dataclass
class Controller:
    """One process's loop. `woken` is set by whoever knows of something new."""

    api: Api
    names: Names
    lease: Lease
    performer: Performer
    source: SampleSource
    woken: threading.Event
    picture: Picture = field(default_factory=Picture)
    discards: DiscardSource | None = None
    _led: bool = False
    _epoch: int = 0
    _courteous_until: float = 0.0
    _versions: tuple[str, str] = ("", "")
    _settings_at: float = -SETTINGS_S
    _looked: float = 0.0
    _last: tuple[State | None, bool] = (None, False)

    def run(self, stopping: Callable[[], bool]) -> None:
        """Turn until `stopping`; then let go of the Lease."""
        pause = BUSY_S
        while not stopping():
            self.picture.turned = time.monotonic()
            try:
                waits = self.turn()
                self._trouble("")
                pause = BUSY_S
                if not waits:
                    continue
            except (Superseded, Conflict) as late:
                log.info("looking again: %s", late)
                pause = AGAIN_S
            except (RolloutError, BadJournal) as error:
                self._trouble(str(error))
                pause = min(pause * 2, MAX_PAUSE_S)
            except Exception as error:  # a fault of ours: say it, stay alive for the next journal
                log.exception("in a turn of the loop")
                self._trouble(f"{type(error).__name__}: {error}")
                pause = MAX_PAUSE_S
            self.woken.wait(pause)
            self.woken.clear()
        self._let_go()

    def turn(self) -> bool:
        """One decision and its action; whether there is nothing more to do for now."""
        self.picture.leading = self.lease.hold()
        if not self.picture.leading:
            self._led = False
            self.performer.jobs.keep_only(None)
            self.picture.at = time.monotonic()
            return True
        state, version = journal.read(self.api, self.names)
        if not self._led:
            state, version = self._take_over(state, version)
            self._led, self._epoch = True, state.epoch
        if self._leaves_to_terminal(state):
            return True
        if self._at_rest(state):
            return True
        self._read_settings()
        number = state.candidate.number if state.candidate else None
        self.performer.jobs.keep_only(number)
        return self._decide(state, version)

    def _decide(self, state: State, version: str) -> bool:
        performer = self.performer
        seen, services = watcher.look(
            self.api,
            self.names,
            performer.settings.plan,
            traffic=traffic(state, self.source, self.discards, performer.settings, time.time()),
            jobs=performer.jobs.seen(),
            recorded=performer.recorded,
            shelf=performer.shelf.look() if _is_quiet(state) else (),
        )
        action = decide(state, seen, time.time(), self.names)
        self.picture.state, self.picture.seen, self.picture.action = state, seen, action
        self.picture.at = self._looked = time.monotonic()
        idle = isinstance(action, actions.Wait)
        if not idle or action.after != state:
            journal.commit(self.api, self.names, state, action.after, version)
        self._last = (action.after, idle)
        if not idle:
            log.info("%s: %s", type(action).__name__.lower(), action.why)
        performer.perform(action, services)
        return idle or isinstance(action, actions.Examine | actions.Rehearse | actions.RunScenarios)

    def _leaves_to_terminal(self, state: State) -> bool:
        """Whether a terminal has just raised the epoch and is moving the traffic itself.

        Patching the same objects at once would only make it try again; should
        it have died, the loop does the rest a moment later.
        """
        now = time.monotonic()
        if state.epoch > self._epoch:
            self._epoch, self._courteous_until = state.epoch, now + COURTESY_S
            self.picture.at = now
        return now < self._courteous_until

    def _take_over(self, state: State, version: str) -> tuple[State, str]:
        """A new process raises the epoch, so that the one before it can write nothing more.

        In the same write it follows Services that are newer than the journal:
        with the epoch raised, an undo without the journal would look like drift.
        """
        seen, _ = watcher.look(self.api, self.names, self.performer.settings.plan)
        current = followed(state, seen, time.time(), self.names)
        raised = replace(current, epoch=current.epoch + 1)
        log.info("leading from epoch %d", raised.epoch)
        return raised, journal.write(self.api, self.names, raised, version)

    def _at_rest(self, state: State) -> bool:
        """Whether nothing changed and the last look is recent enough for a quiet time."""
        same = self._last == (state, True)
        rest = same and _is_quiet(state) and time.monotonic() - self._looked < QUIET_S
        if rest:
            self.picture.at = time.monotonic()
        return rest

    def _read_settings(self) -> None:
        """Follow the admin's ConfigMaps. Raises BadSettings; the last good ones stay."""
        now = time.monotonic()
        if now - self._settings_at < SETTINGS_S:
            return
        names = self.names
        found = [
            self.api.get(core(names.control, "configmaps", name)) or {}
            for name in (names.settings, names.trust)
        ]
        self._settings_at = now
        versions = tuple(one.get("metadata", {}).get("resourceVersion", "") for one in found)
        if versions == self._versions:
            return
        self.performer.settings = settings.parse(found[0].get("data") or {})
        self.performer.signers = (found[1].get("data") or {}).get("allowed_signers", "")
        self._versions = (versions[0], versions[1])
        log.info("settings read: %s", self.performer.settings.plan.environment)

    def _trouble(self, line: str) -> None:
        if line and line != self.picture.trouble:
            log.warning("%s", line)
        self.picture.trouble = line

    def _let_go(self) -> None:
        try:
            self.lease.release()
        except (ApiError, ApiUnavailable) as error:
            log.info("the Lease was not released: %s", error)


def _is_quiet(state: State) -> bool:
    """Whether no release is on its way or still to be recorded."""
    return state.candidate is None and state.restore is None and not state.ended
