"""What a person wishes of a release: each is one edit of the journal, and then some patience."""

from __future__ import annotations

import argparse
import subprocess
import time
from dataclasses import replace

from rollout import commands, follow, journal
from rollout.candidate import Hold
from rollout.cli_output import NotGranted, progress, show
from rollout.cluster import Api
from rollout.edit import Edit
from rollout.names import Names
from rollout.retained import retained
from rollout.state import Push, State


def deploy(api: Api, names: Names, given: argparse.Namespace) -> int:
    """Queue a commit or a branch; with --wait, 0 only if it serves in the end."""
    push = Push(
        commit=f"refs/heads/{given.branch}" if given.branch else _local(given.commit),
        at=time.time(),
        by="hand",
        branch=given.branch or "",
        give_up_undo=given.give_up_undo,
    )
    edit = journal.edit(api, names, lambda state: commands.push(state, push))
    if not given.wait:
        return _told(given, edit)
    say, until = progress(given), time.monotonic() + given.wait
    say(edit.said)
    commit = push.commit if push.resolved else _resolved(api, names, push, until, given)
    state = follow.until(api, names, lambda now: _over(now, commit), until - time.monotonic(), say)
    good, held = state.serving.commit == commit, _hold(state, commit) or state.held.get(commit)
    why = held.why if held else ""
    show(given, {"said": state.said, "commit": commit, "promoted": good, "why": why}, [])
    return 0 if good else 1


def split(api: Api, names: Names, given: argparse.Namespace) -> int:
    """A share by hand; with --wait, until the slots have it."""

    def change(state: State) -> Edit:
        known = retained(api, names, state) if state.candidate is None else None
        return commands.split(state, given.percent, time.time(), known)

    def opened(state: State) -> bool:
        return state.candidate is None or state.candidate.split == given.percent

    edit = journal.edit(api, names, change)
    if given.wait and not edit.wrong:
        state = follow.until(api, names, opened, given.wait, progress(given))
        if state.candidate is None:
            raise NotGranted(state.said)
        edit = replace(edit, said=state.said)
    return _told(given, edit)


def promote(api: Api, names: Names, given: argparse.Namespace) -> int:
    """Promote the candidate or the retained release; with --wait, until it serves."""

    def change(state: State) -> Edit:
        known = retained(api, names, state) if state.candidate is None else None
        return commands.promote(state, time.time(), known)

    edit = journal.edit(api, names, change)
    if given.wait and edit.state is not None:
        wanted = edit.state.candidate or edit.state.serving
        state = follow.until(
            api, names, lambda now: now.candidate is None, given.wait, progress(given)
        )
        if state.serving.number != wanted.number:
            raise NotGranted(state.said)
        edit = replace(edit, said=state.said)
    return _told(given, edit)


def resume(api: Api, names: Names, given: argparse.Namespace) -> int:
    """End a hold."""
    return _told(given, journal.edit(api, names, lambda state: commands.resume(state, time.time())))


def forget(api: Api, names: Names, given: argparse.Namespace) -> int:
    """Let go of commits that were held long ago."""
    before = time.time() - given.older_than * 86400
    return _told(given, journal.edit(api, names, lambda state: commands.forget(state, before)))


def _told(given: argparse.Namespace, edit: Edit) -> int:
    if edit.wrong:
        raise NotGranted(edit.said)
    show(given, {"said": edit.said, "changed": edit.state is not None}, [edit.said])
    return 0


def _resolved(api: Api, names: Names, push: Push, until: float, given: argparse.Namespace) -> str:
    """The sha that the controller finds for a name. Raises NotGranted if it finds none."""
    state = follow.until(
        api,
        names,
        lambda now: now.queue is None or now.queue.resolved,
        until - time.monotonic(),
        progress(given),
    )
    if state.seen is None or state.said.startswith(f"{push.commit}: "):
        raise NotGranted(state.said)
    return state.queue.commit if state.queue else state.seen


def _over(state: State, commit: str) -> bool:
    """Whether nothing more happens to the commit without a person."""
    waits = state.queue is not None and state.queue.commit == commit
    runs = state.candidate is not None and state.candidate.commit == commit
    return not waits and (not runs or _hold(state, commit) is not None)


def _hold(state: State, commit: str) -> Hold | None:
    candidate = state.candidate
    return candidate.hold if candidate is not None and candidate.commit == commit else None


def _local(commit: str) -> str:
    """The full sha if this is a checkout that knows the commit, else the word as it is."""
    words = ["rev-parse", "--quiet", "--verify", "--end-of-options", f"{commit}^{{commit}}"]
    try:
        done = subprocess.run(
            ["git", *words], capture_output=True, text=True, check=False, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired):
        return commit
    return done.stdout.strip() if done.returncode == 0 else commit
