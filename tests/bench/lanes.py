"""Both lanes up, as after any promotion: the ground of the split and undo benches."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.demo import release
from tests.demo.__main__ import GOOD
from tests.demo.settings import pointed_at
from tests.demo.timeline import Timeline
from tests.demo.workshop import Served, Workshop

RELEASE_LIMIT_S = 300.0


def both_up(git_address: str = "10.203.0.1") -> release.Status:
    """Release one commit if no previous lane is retained; returns the status then."""
    now = release.status()
    if now["retained"]:
        return now
    timeline = Timeline()
    timeline.heading("one release first, so that both lanes are up")
    with tempfile.TemporaryDirectory(prefix="switchyard-bench-") as folder:
        workshop = Workshop(Path(folder))
        commit = workshop.prepare(workshop.open(), GOOD)
        workshop.install_hook()
        with (
            Served(workshop, git_address) as served,
            pointed_at(served.url, workshop.allowed_signers),
        ):
            workshop.push(commit)
            ended = release.wait(
                "the release", release.outcome_of(commit), RELEASE_LIMIT_S, timeline.follow
            )
    if not ended["retained"]:
        raise RuntimeError(f"the release did not end in a promotion: {ended['last']}")
    return ended
