"""Both lanes up, as after any promotion: the ground of the split and undo benches."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.demo import clients, release
from tests.demo.__main__ import GOOD
from tests.demo.fleet import Fleet
from tests.demo.settings import pointed_at
from tests.demo.timeline import Timeline
from tests.demo.workshop import Served, Workshop

RELEASE_LIMIT_S = 300


def both_up(git_address: str = "10.203.0.1") -> None:
    """End with one release serving and another retained; release a commit if need be."""
    now = release.status()
    if not now["retained"] and not now["undo_window_left_s"]:
        promote_one(git_address)
        now = release.status()
    if not now["retained"]:
        # After an undo the loser stands by, and can be given a share or be promoted again.
        release.rollout("undo")
    if not release.status()["retained"]:
        raise RuntimeError("no lane is retained beside the serving one: see `rollout status`")


def promote_one(git_address: str) -> None:
    """Release one good commit all the way."""
    timeline = Timeline()
    timeline.heading("one release first, so that both lanes are up")
    fleet = Fleet("bench-release", clients.orders(RELEASE_LIMIT_S))
    with tempfile.TemporaryDirectory(prefix="switchyard-bench-") as folder:
        workshop = Workshop(Path(folder))
        commit = workshop.prepare(workshop.open(), GOOD)
        workshop.install_hook()
        with (
            Served(workshop, git_address) as served,
            pointed_at(served.url, workshop.allowed_signers),
        ):
            fleet.start()
            try:
                workshop.push(commit)
                ended = release.conclude(commit, RELEASE_LIMIT_S, timeline.follow)
            finally:
                fleet.stop()
    if ended.verdict != "promoted":
        raise RuntimeError(f"the release was {ended.verdict}: {ended.why}")
