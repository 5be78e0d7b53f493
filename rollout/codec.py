"""The journal as text: JSON with a version, strict on the way back."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from rollout.candidate import Candidate, Hold, HoldKind, Phase, Size
from rollout.marks import is_epoch
from rollout.state import Ended, Held, Push, Restore, Serving, State, Times

VERSION = 1


class BadJournal(Exception):
    """A journal that cannot be read; one line with the remedy."""


def dump(state: State) -> str:
    """The journal's text."""
    return json.dumps({"version": VERSION, **asdict(state)}, ensure_ascii=False, indent=1)


def load(text: str) -> State:
    """Read a journal's text. Raises BadJournal."""
    try:
        raw = json.loads(text)
        version = raw.pop("version")
        if version != VERSION:
            raise BadJournal(
                f"the journal has version {version}, this program reads {VERSION}: "
                "use the program of the running controller's release"
            )
        return _state(raw)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadJournal(
            f"the journal is not readable ({error!r}): delete the ConfigMap `journal` "
            "and run `rollout init`, which rebuilds it from the Services and records"
        ) from None


def _state(raw: dict[str, Any]) -> State:
    if not is_epoch(raw["epoch"]):
        raise ValueError(f"epoch {raw['epoch']!r}")
    raw["serving"] = Serving(**raw["serving"])
    raw["previous"] = Serving(**raw["previous"]) if raw["previous"] else None
    raw["retained"] = Serving(**raw["retained"]) if raw["retained"] else None
    raw["candidate"] = _candidate(raw["candidate"]) if raw["candidate"] else None
    raw["restore"] = _restore(raw["restore"]) if raw["restore"] else None
    raw["queue"] = Push(**raw["queue"]) if raw["queue"] else None
    raw["times"] = Times(**raw["times"])
    raw["services"] = {int(number): at for number, at in raw["services"].items()}
    raw["held"] = {commit: Held(**held) for commit, held in raw["held"].items()}
    raw["pruned"] = tuple(raw.get("pruned", ()))
    raw["ended"] = tuple(Ended(**ended) for ended in raw["ended"])
    return State(**raw)


def _candidate(raw: dict[str, Any]) -> Candidate:
    hold = raw["hold"]
    raw["hold"] = Hold(HoldKind(hold["kind"]), hold["why"], hold["since"]) if hold else None
    raw["phase"] = Phase(raw["phase"])
    raw["sizes"] = _sizes(raw["sizes"])
    raw["steps"] = tuple(raw["steps"])
    raw["passed"] = tuple(raw["passed"])
    return Candidate(**raw)


def _restore(raw: dict[str, Any]) -> Restore:
    raw["sizes"] = _sizes(raw["sizes"])
    return Restore(**raw)


def _sizes(raw: dict[str, Any]) -> dict[str, Size]:
    return {name: Size(**size) for name, size in raw.items()}
