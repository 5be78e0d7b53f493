"""Every command but `undo` and `abort`."""

from __future__ import annotations

import argparse
import json
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from rollout import access, commands, follow, journal, lanes, records, sequences
from rollout.cluster import Api
from rollout.commands import Edit
from rollout.errors import RolloutError
from rollout.names import Names
from rollout.state import Push, State


class NotGranted(RolloutError):
    """What was asked for ended otherwise."""


def run(given: argparse.Namespace, names: Names) -> int:
    """Carry out one command; the exit status."""
    if given.command == "serve":
        return _serve(given, names)
    return _COMMANDS[given.command](Api(access.find()), names, given)


def _serve(given: argparse.Namespace, names: Names) -> int:
    from rollout.checks import CHECKS
    from rollout.serve import serve

    return serve(names, Path(given.folder), (given.host, given.port), CHECKS)


def _status(api: Api, names: Names, given: argparse.Namespace) -> int:
    from rollout.status import lines, status

    state, _ = journal.read(api, names)
    roles, slots = sequences.read(api, names).view(names)
    data = status(state, roles, slots, lanes.observe(api, names), names, time.time())
    data |= _from_controller(api, names, state)
    _show(given, data, lines(data))
    return 0


def _from_controller(api: Api, names: Names, state: State) -> dict[str, Any]:
    """What only the controller knows (samples, what it waits for), if it can be asked."""
    from rollout.cluster import core

    path = core(names.control, "services", "rollout:80") + "/proxy/status?output=json"
    try:
        told = json.loads(api.call("GET", path, 1.0))
    except (RolloutError, ValueError):
        return {"controller": "not reached"}
    if not isinstance(told, dict) or told.get("epoch") != state.epoch:
        return {"controller": "reached"}
    found = {key: told[key] for key in ("doing", "traffic", "trouble") if key in told}
    return {"controller": "reached", **found}


def _deploy(api: Api, names: Names, given: argparse.Namespace) -> int:
    commit = given.branch and f"refs/heads/{given.branch}"
    push = Push(
        commit=commit or _local(given.commit),
        at=time.time(),
        by="hand",
        branch=given.branch or "",
        give_up_undo=given.give_up_undo,
    )
    edit = journal.edit(api, names, lambda state: commands.push(state, push))
    _say(given, edit)
    return _follow_push(api, names, given, push) if given.wait else 0


def _follow_push(api: Api, names: Names, given: argparse.Namespace, push: Push) -> int:
    """Wait until the release is promoted, refused or held; 0 only if it serves."""
    say, began = _progress(given), time.monotonic()
    if not push.resolved:
        state = follow.until(
            api, names, lambda now: now.queue is None or now.queue.resolved, given.wait, say
        )
        mine = state.queue or state.candidate
        push = replace(push, commit=mine.commit if mine else state.seen or push.commit)

    def over(state: State) -> bool:
        waits = state.queue is not None and state.queue.commit == push.commit
        runs = state.candidate is not None and state.candidate.commit == push.commit
        held = runs and state.candidate is not None and state.candidate.hold is not None
        return not waits and (held or not runs)

    left = given.wait - (time.monotonic() - began)
    state = follow.until(api, names, over, left, say)
    good = state.serving.commit == push.commit
    held = state.held.get(push.commit)
    _show(given, {"said": state.said, "promoted": good, "why": held.why if held else ""}, [])
    return 0 if good else 1


def _local(commit: str) -> str:
    """The full sha if this is a checkout that knows the commit, else the word as it is."""
    done = subprocess.run(
        ["git", "rev-parse", "--quiet", "--verify", "--end-of-options", f"{commit}^{{commit}}"],
        capture_output=True, text=True, check=False, timeout=10,
    )  # fmt: skip
    return done.stdout.strip() if done.returncode == 0 else commit


def _split(api: Api, names: Names, given: argparse.Namespace) -> int:
    from rollout.retained import retained

    def change(state: State) -> Edit:
        known = retained(api, names, state) if state.candidate is None else None
        return commands.split(state, given.percent, time.time(), known)

    def opened(state: State) -> bool:
        return state.candidate is None or state.candidate.split == given.percent

    edit = journal.edit(api, names, change)
    _say(given, edit)
    if given.wait and not edit.wrong:
        state = follow.until(api, names, opened, given.wait, _progress(given))
        if state.candidate is None:
            raise NotGranted(state.said)
    return int(edit.wrong)


def _promote(api: Api, names: Names, given: argparse.Namespace) -> int:
    from rollout.retained import retained

    def change(state: State) -> Edit:
        known = retained(api, names, state) if state.candidate is None else None
        return commands.promote(state, time.time(), known)

    state, _ = journal.read(api, names)
    wanted = state.candidate or state.retained
    edit = journal.edit(api, names, change)
    _say(given, edit)
    if given.wait and edit.state is not None and wanted is not None:
        state = follow.until(
            api, names, lambda now: now.candidate is None, given.wait, _progress(given)
        )
        if state.serving.number != wanted.number:
            raise NotGranted(state.said)
    return int(edit.wrong)


def _resume(api: Api, names: Names, given: argparse.Namespace) -> int:
    edit = journal.edit(api, names, lambda state: commands.resume(state, time.time()))
    _say(given, edit)
    return int(edit.wrong)


def _history(api: Api, names: Names, given: argparse.Namespace) -> int:
    rows = []
    for one in records.history(api, names):
        at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(one.verdict_at or one.created))
        what = one.commit[:12] if one.commit else "-"
        rows.append(
            f"{one.number:4}  {at}  {one.verdict:10}  {one.lane:5}  {what:12}  {one.subject[:40]}"
        )
    data = [
        {
            "number": one.number, "commit": one.commit, "subject": one.subject,
            "tickets": one.tickets, "lane": one.lane, "verdict": one.verdict, "why": one.why,
            "created": one.created, "verdict_at": one.verdict_at,
            "promoted_at": one.promoted_at, "predecessor": one.predecessor,
            "images": one.images, "manifests_sha3": one.manifests_sha3,
        }
        for one in records.history(api, names)
    ]  # fmt: skip
    _show(given, data, rows or ["no release yet: an admin runs `rollout init`"])
    return 0


def _plan(api: Api, names: Names, given: argparse.Namespace) -> int:
    from rollout.forecast import forecast, lines

    state, _ = journal.read(api, names)
    data = forecast(api, names, state, time.time())
    _show(given, data, lines(data))
    return 0


def _init(api: Api, names: Names, given: argparse.Namespace) -> int:
    from rollout.init import init, overlays
    from rollout.render import render

    here = Path.cwd()
    canary, prod = overlays(given.overlay or f"deploy/overlays/prod/{given.lane}")
    texts = {path.name: path.read_text() for path in (here / "rollout/scenarios").glob("*.yaml")}
    state = init(
        api, names, given.lane, render(here, canary), render(here, prod), texts, _progress(given)
    )
    said = f"release {state.serving.number} serves on {state.serving.lane}"
    _show(given, {"said": said}, [said])
    return 0


def _hook(api: Api, names: Names, given: argparse.Namespace) -> int:
    from rollout import hook, secrets

    address = given.url or lanes.address(api, names.control, "rollout")
    if address is None:
        raise NotGranted(f"no Service rollout in {names.control}: give the webhook with --url")
    url = address if given.url else f"{address}/push"
    if given.install is None:
        print(hook.script(url), end="")
        return 0
    token = secrets.read(api, names, secrets.WEBHOOK, "token")
    path = hook.install(Path(given.install), url, token)
    _show(given, {"hook": str(path), "url": url}, [f"{path} tells {url}"])
    return 0


def _say(given: argparse.Namespace, edit: Edit) -> None:
    if edit.wrong:
        raise NotGranted(edit.said)
    if given.output == "json" and not getattr(given, "wait", None):
        print(json.dumps({"said": edit.said, "changed": edit.state is not None}))
    elif given.output == "text":
        print(edit.said)


def _show(given: argparse.Namespace, data: Any, text: list[str]) -> None:
    if given.output == "json":
        print(json.dumps(data, ensure_ascii=False, indent=1))
        return
    for line in text:
        print(line)


def _progress(given: argparse.Namespace) -> Callable[[str], None]:
    began = time.monotonic()

    def say(line: str) -> None:
        if given.output == "text":
            print(f"{time.monotonic() - began:7.1f} s  {line}", flush=True)

    return say


_COMMANDS: dict[str, Callable[[Api, Names, argparse.Namespace], int]] = {
    "status": _status,
    "deploy": _deploy,
    "split": _split,
    "promote": _promote,
    "resume": _resume,
    "history": _history,
    "plan": _plan,
    "init": _init,
    "hook": _hook,
}
