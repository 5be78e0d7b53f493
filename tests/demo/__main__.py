"""`make demo`: from a signed push to an undo, on the running cluster, with clients asking.

Four commits: a good one goes to 100 %; one that answers wrongly never gets
traffic; one that is slow only under load is caught in a step and undone; a last
good one is promoted and then undone by hand. Exit status 0 says that all of it
went as promised.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time

from tests.demo import clients, release, verdict
from tests.demo.fleet import Fleet
from tests.demo.promises import Promises
from tests.demo.scheduled import Scheduled
from tests.demo.settings import pointed_at
from tests.demo.timeline import Timeline
from tests.demo.workshop import Change, Served, Workshop, WorkshopError, default_folder

GOOD = Change("good.patch", "pipeline", "[AI-101] Say when the account was read, more plainly")
WRONG = Change("wrong.patch", "pipeline", "[AI-102] Shorten the balance sentence")
SLOW = Change("slow.patch", "gateway", "[AI-103] Ask the quota service before each question")
LAST = Change("last.patch", "pipeline", "[AI-104] Greet more warmly")

RELEASE_LIMIT_S = 300.0
GOOD_RELEASE_S = 150.0
SCHEDULED_S = 2.0
UNDO_S = 1.0
CLIENT_SECONDS = 1500


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.demo", description=__doc__)
    parser.add_argument(
        "--git-address",
        default="10.203.0.1",
        help="address of this machine as pods see it (default: %(default)s)",
    )
    parser.add_argument(
        "--report-times", action="store_true", help="print times without judging by them"
    )
    arguments = parser.parse_args()
    # Ended from outside, it still takes its clients and settings away.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("demo: ended by SIGTERM"))
    promises = Promises(judge_times=not arguments.report_times)
    try:
        return Demo(Workshop(default_folder()), arguments.git_address, promises).run()
    except WorkshopError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1


class Demo:
    def __init__(self, workshop: Workshop, address: str, promises: Promises) -> None:
        self.workshop = workshop
        self.address = address
        self.timeline = Timeline()
        self.promises = promises

    def run(self) -> int:
        commits = self.prepare()
        fleet = Fleet("demo-clients", clients.orders(CLIENT_SECONDS))
        with (
            Served(self.workshop, self.address) as served,
            pointed_at(served.url, self.workshop.allowed_signers),
        ):
            fleet.start()
            try:
                self.good(fleet, commits["good"])
                self.wrong(fleet, commits["wrong"])
                self.slow(fleet, commits["slow"])
                self.undo(fleet, commits["last"])
            except release.Late as late:
                self.promises.keep(False, str(late))
            finally:
                fleet.stop()
        return self.report(fleet)

    def prepare(self) -> dict[str, str]:
        """All commits, with their images built and pushed beforehand."""
        tell = self.timeline.note
        tell("make a signing key, a work tree and a bare repository")
        base = self.workshop.open(release.status()["serving"]["commit"])
        commits: dict[str, str] = {}
        for name, change, parent in (
            ("good", GOOD, base), ("wrong", WRONG, "good"), ("slow", SLOW, "-wrong"),
            ("last", LAST, "-slow"),
        ):  # fmt: skip
            if parent.startswith("-"):
                start = self.workshop.revert(commits[parent[1:]])
            else:
                start = commits.get(parent, parent)
            tell(f"build {change.image} for “{change.subject}”")
            commits[name] = self.workshop.prepare(start, change)
        self.workshop.install_hook()
        return commits

    def push(self, commit: str, what: str) -> float:
        self.timeline.heading(what)
        window = release.status()["undo_window_left_s"] > 0
        said = self.workshop.push(commit)
        accepted = time.time()
        self.timeline.start(accepted)
        self.timeline.note(f"push of {commit[:12]} accepted")
        for line in said.splitlines():
            if line.startswith("remote:") and line.removeprefix("remote:").strip():
                self.timeline.note(line.strip())
        if window:
            # A push inside the undo window waits for its end unless told otherwise.
            release.rollout("deploy", commit, "--give-up-undo")
            self.timeline.note("`rollout deploy --give-up-undo`")
        return accepted

    def conclude(self, commit: str) -> release.Ended:
        return release.conclude(commit, RELEASE_LIMIT_S, self.timeline.follow)

    def good(self, fleet: Fleet, commit: str) -> None:
        before = release.status()["serving"]["lane"]
        with Scheduled() as pods:
            accepted = self.push(commit, "A good commit goes all the way")
            ended = self.conclude(commit)
        took = time.time() - accepted
        scheduled = pods.first_after(accepted)
        keep = self.promises.keep
        keep(ended.verdict == "promoted", f"the good commit is promoted ({ended.why})")
        keep(ended.status["serving"]["lane"] != before, "it serves on the lane it was tested on")
        self.promises.within(took, GOOD_RELEASE_S, "push to 100 %")
        self.promises.within(
            scheduled - accepted if scheduled else None, SCHEDULED_S, "first canary pod scheduled"
        )
        self.unharmed(fleet, accepted, "the good release")

    def wrong(self, fleet: Fleet, commit: str) -> None:
        serving = release.status()["serving"]["lane"]
        accepted = self.push(commit, "A commit that answers wrongly, with healthy pods")
        ended = self.conclude(commit)
        rows = verdict.between(fleet.seen, accepted, time.time())
        foreign = [row for row in rows if row.get("lane") not in (serving, None)]
        self.promises.keep(
            ended.verdict == "rejected", f"the wrong commit is rejected ({ended.why})"
        )
        self.promises.keep(
            bool(rows) and not foreign,
            f"it got no traffic ({len(rows)} answers, {len(foreign)} from its lane)",
        )
        self.unharmed(fleet, accepted, "the rejected release")

    def slow(self, fleet: Fleet, commit: str) -> None:
        serving = release.status()["serving"]["lane"]
        accepted = self.push(commit, "A commit that is slow only under load")
        ended = self.conclude(commit)
        met = [
            row for row in verdict.between(fleet.seen, accepted, time.time())
            if row.get("lane") not in (serving, None)
        ]  # fmt: skip
        late = [row for row in met if row.get("connected", 0) > ended.at + UNDO_S]
        self.promises.keep(
            ended.verdict == "rejected" and ended.why.startswith("at "),
            f"the slow commit is caught in a step and taken back ({ended.why})",
        )
        self.promises.keep(bool(met), f"it was caught under traffic ({len(met)} answers)")
        self.promises.keep(not late, f"no new connection reaches it {UNDO_S:.0f} s after the undo")

    def undo(self, fleet: Fleet, commit: str) -> None:
        accepted = self.push(commit, "Another good commit, and then `rollout undo`")
        ended = self.conclude(commit)
        self.promises.keep(ended.verdict == "promoted", "the last commit is promoted")
        loser = ended.status["serving"]["lane"]
        time.sleep(5)
        began = time.time()
        release.rollout("undo")
        returned = time.time()
        self.timeline.note(f"`rollout undo` returned after {returned - began:.2f} s")
        time.sleep(8)
        rows = verdict.between(fleet.seen, began - 3, time.time())
        last = verdict.last_new_connection(rows, loser, began)
        pinned = [
            row for row in rows if row["client"] == "pinned" and row["t0"] > returned + UNDO_S
        ]
        moved = bool(pinned) and all(row.get("lane") != loser for row in pinned)
        self.promises.within(last, UNDO_S, "last new connection on the losing lane")
        self.promises.keep(moved, "the client that never looks up again was moved too")
        self.unharmed(fleet, accepted, "the promotion and its undo")

    def unharmed(self, fleet: Fleet, since: float, what: str) -> None:
        rows = verdict.between(fleet.seen, since, time.time())
        bad = verdict.failed(rows)
        self.promises.keep(
            bool(rows) and not bad, f"no client was harmed by {what}: {len(rows)} requests,"
            f" {len(bad)} failed{_first(bad)}",
        )  # fmt: skip

    def report(self, fleet: Fleet) -> int:
        self.timeline.heading("What each client saw")
        print(f"{'client':<12} {'requests':>8} {'failed':>7}  lanes")
        for name, count, bad, lanes in verdict.by_client(
            row for row in fleet.seen if row["client"]
        ):
            print(f"{name:<12} {count:>8} {bad:>7}  {lanes}")
        repeated = sum(1 for row in fleet.seen if row.get("repeated_lookup"))
        print(f"{repeated} lookups went unanswered for 2 s and were asked again")
        for row in verdict.failed(fleet.seen)[:5]:
            print(f"  failed: {json.dumps(row, ensure_ascii=False)[:400]}")
        self.timeline.heading("Promises")
        for kept, text in self.promises.all:
            print(f"{'kept  ' if kept else 'BROKEN'}  {text}")
        return 0 if self.promises.kept else 1


def _first(bad: list[verdict.Row]) -> str:
    return f" (first: {json.dumps(bad[0], ensure_ascii=False)[:300]})" if bad else ""


if __name__ == "__main__":
    try:
        sys.exit(main())
    except RuntimeError as failure:
        sys.exit(f"demo: {failure}")
