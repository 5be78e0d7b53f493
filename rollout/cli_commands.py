"""Every command but `undo` and `abort`."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from rollout import access, cli_wishes, journal, lanes, records, sequences
from rollout.cli_output import NotGranted, progress, show
from rollout.cluster import Api, core
from rollout.codec import BadJournal
from rollout.errors import RolloutError
from rollout.names import Names
from rollout.retention import KEPT
from rollout.state import State


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
    show(given, data, lines(data))
    return 0


def _from_controller(api: Api, names: Names, state: State) -> dict[str, Any]:
    """What only the controller knows (samples, what it waits for), if it can be asked."""
    path = core(names.control, "services", "rollout:80") + "/proxy/status?output=json"
    try:
        told = json.loads(api.call("GET", path, 1.0))
    except (RolloutError, ValueError):
        return {"controller": "not reached"}
    if not isinstance(told, dict) or told.get("epoch") != state.epoch:
        return {"controller": "reached"}
    found = {key: told[key] for key in ("doing", "traffic", "trouble") if key in told}
    return {"controller": "reached", **found}


def _history(api: Api, names: Names, given: argparse.Namespace) -> int:
    found = records.history(api, names)
    rows = []
    for one in found:
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
        for one in found
    ]  # fmt: skip
    if not rows:
        rows.append("no release yet: an admin runs `rollout init`")
    show(given, data, [*_pruned(api, names), *rows])
    return 0


def _pruned(api: Api, names: Names) -> list[str]:
    """A line about what is missing; none without a journal, since `history` must do without."""
    with suppress(RolloutError, BadJournal):
        state, _ = journal.read(api, names)
        if state.pruned:
            return [f"      older records, up to release {max(state.pruned)}, were pruned: {KEPT}"]
    return []


def _plan(api: Api, names: Names, given: argparse.Namespace) -> int:
    from rollout.forecast import forecast, lines

    state, _ = journal.read(api, names)
    data = forecast(api, names, state, time.time())
    show(given, data, lines(data))
    return 0


def _init(api: Api, names: Names, given: argparse.Namespace) -> int:
    from rollout.init import init, overlays
    from rollout.render import render

    here = Path.cwd()
    canary, prod = overlays(given.overlay or f"deploy/overlays/prod/{given.lane}")
    texts = {path.name: path.read_text() for path in (here / "rollout/scenarios").glob("*.yaml")}
    state = init(
        api, names, given.lane, render(here, canary), render(here, prod), texts, progress(given)
    )
    said = f"release {state.serving.number} serves on {state.serving.lane}"
    show(given, {"said": said}, [said])
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
    show(given, {"hook": str(path), "url": url}, [f"{path} tells {url}"])
    return 0


_COMMANDS: dict[str, Callable[[Api, Names, argparse.Namespace], int]] = {
    "status": _status,
    "deploy": cli_wishes.deploy,
    "split": cli_wishes.split,
    "promote": cli_wishes.promote,
    "resume": cli_wishes.resume,
    "forget": cli_wishes.forget,
    "history": _history,
    "plan": _plan,
    "init": _init,
    "hook": _hook,
}
