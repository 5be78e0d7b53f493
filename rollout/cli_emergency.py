"""The commands `undo` and `abort`: as few imports as possible before the traffic moves."""

from __future__ import annotations

import argparse
import json
import time

from rollout import access, retreat
from rollout.cluster import Api
from rollout.edit import Edit
from rollout.names import Names
from rollout.seen import Seen, previous_release
from rollout.state import State
from rollout.undo import Command, Report, turn_back


def run(given: argparse.Namespace, names: Names, began: float) -> int:
    """Undo or abort; the exit status."""
    api = Api(access.find())
    command = _abort if given.command == "abort" else _undo(api, names, given.to_revision)
    plain = given.command == "undo" and given.to_revision is None
    report = turn_back(api, names, command, began, plain=plain, force=given.force)
    text = given.output == "text"
    if text:
        for what, at in report.steps:
            print(f"{at:7.3f} s  {what}")
    if report.restoring:
        from rollout.restore import drive

        def say(line: str) -> None:
            if text:
                print(f"{time.monotonic() - began:7.3f} s  {line}", flush=True)

        say(report.said)
        report.said = drive(api, names, given.timeout, say)
        report.moved = True
    _print(report, text)
    return 1 if report.wrong else 0


def _print(report: Report, text: bool) -> None:
    if text:
        print(report.said)
        return
    steps = [{"what": what, "at_s": round(at, 4)} for what, at in report.steps]
    print(json.dumps({"said": report.said, "moved": report.moved, "steps": steps}))


def _abort(state: State, now: float, seen: Seen) -> Edit:
    return retreat.abort(state, now)


def _undo(api: Api, names: Names, number: int | None) -> Command:
    def undo(state: State, now: float, seen: Seen) -> Edit:
        back = previous_release(names, state, seen)
        if number is None and (back is None or back.runs):
            return retreat.undo(state, now, back)
        if number is None and state.candidate is not None:
            return retreat.undo(state, now, back)
        if number is not None and back is not None and back.number == number and back.runs:
            return retreat.undo_to(state, now, back)
        # Its pods are gone: the record says what to start.
        from rollout.retained import by_number

        wanted = number if number is not None else back.number if back else 0
        release = by_number(api, names, wanted, state.pruned)
        if number is None:
            return retreat.undo(state, now, release)
        return retreat.undo_to(state, now, release)

    return undo
