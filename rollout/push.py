"""Pushes that reach the controller: a webhook's, a name to resolve, a tip that a poll found."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from rollout import commands, journal
from rollout.cluster import Api
from rollout.codec import BadJournal
from rollout.edit import Edit
from rollout.errors import RolloutError
from rollout.git import GitError
from rollout.names import Names
from rollout.perform import Performer
from rollout.state import Push, State

log = logging.getLogger("rollout")

POLL_S = 30.0
RESOLVE_S = 0.3
ZEROS = "0" * 40


class BadPush(RolloutError):
    """A notification that is not one."""


def from_hook(body: Any, branch: str, now: float) -> Push | None:
    """The push in a webhook's body; None for another branch or a deletion. Raises BadPush."""
    if not isinstance(body, dict):
        raise BadPush('the body is not an object: send {"ref": "refs/heads/…", "after": "SHA"}')
    ref, after = body.get("ref"), body.get("after")
    push = Push(after, now, "hook") if isinstance(after, str) else None
    if not isinstance(ref, str) or push is None or not push.resolved:
        raise BadPush('send {"ref": "refs/heads/…", "after": "SHA of 40 hex digits"}')
    return push if ref == f"refs/heads/{branch}" and after != ZEROS else None


@dataclass
class Poller:
    """Resolves names in the queue at once and looks at the branch every 30 s."""

    api: Api
    names: Names
    performer: Performer
    woken: threading.Event
    leading: Callable[[], bool]
    _polled: float = 0.0

    def run(self, stopping: Callable[[], bool]) -> None:
        """Until `stopping`. A fault is logged and tried again."""
        while not stopping():
            try:
                if self.leading() and self.performer.settings.git_url:
                    self.once()
            except (GitError, BadJournal, RolloutError) as error:
                log.warning("poll: %s", error)
                self._polled = time.monotonic()
            except Exception:  # a fault of ours: pushes by webhook go on
                log.exception("poll")
                self._polled = time.monotonic()
            time.sleep(RESOLVE_S)

    def once(self) -> None:
        """Resolve what waits by name, then poll if it is time."""
        state, _ = journal.read(self.api, self.names)
        if state.queue is not None and not state.queue.resolved:
            self._resolve(state.queue)
        if time.monotonic() - self._polled >= POLL_S:
            self._polled = time.monotonic()
            self._poll()

    def _resolve(self, push: Push) -> None:
        try:
            repository = self.performer.repository()
            repository.fetch(push.branch or self.performer.settings.branch)
            found = replace(push, commit=repository.resolve(push.commit))
            said = ""
        except GitError as error:
            found, said = None, f"{push.commit}: {error}"

        def change(state: State) -> Edit:
            if state.queue != push:
                return Edit(None, "another push took its place")
            if found is None:
                return Edit(replace(state, queue=None, said=said), said)
            free = replace(state, queue=None, seen=found.commit)
            wish = commands.push(free, found)
            return wish if wish.state else Edit(replace(free, said=wish.said), wish.said)

        log.info("%s: %s", push.commit, journal.edit(self.api, self.names, change).said)
        self.woken.set()

    def _poll(self) -> None:
        settings = self.performer.settings
        tip = self.performer.repository().fetch(settings.branch)
        push = Push(tip, time.time(), "poll")

        def change(state: State) -> Edit:
            if tip == state.seen or state.queue is not None:
                return Edit(None, "nothing new")
            return commands.push(state, push)

        wish = journal.edit(self.api, self.names, change)
        if wish.wrong:
            log.warning("poll: %s", wish.said)
        if wish.state is not None:
            log.info("poll: %s", wish.said)
            self.woken.set()
