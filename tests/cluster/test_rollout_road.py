"""The whole road on a real cluster, with a tiny app so that it takes seconds."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tiny_cluster import Clients, Tiny, tiny_rollout

from rollout import records


@pytest.fixture
def tiny(tmp_path: Path) -> Iterator[Tiny]:
    with tiny_rollout(tmp_path) as made:
        yield made


def test_a_signed_push_is_promoted_and_undone_and_no_request_fails(tiny: Tiny) -> None:
    tiny.serve()
    with Clients(tiny) as clients:
        commit = tiny.forge.commit("[AI-1] greet", RELEASE="2")
        said = tiny.run("deploy", commit, "--wait", "90")
        assert "release 2" in said
        state = tiny.state()
        assert (state.serving.number, state.serving.lane) == (2, "green"), tiny.log()
        tiny.until(lambda now: not now.ended)
        tiny.traffic_is_on("green")
        time.sleep(1)
        at = time.monotonic()
        assert clients.lanes("cached", at - 0.5) == {
            "green": clients.lanes("cached", at - 0.5).total()
        }
        said = tiny.run("undo")
        done = time.monotonic()
        tiny.traffic_is_on("blue")
        time.sleep(1.5)
        after = clients.lanes("cached", done + 0.3) + clients.lanes("lookup", done + 0.3)
        assert set(after) == {"blue"}, f"{after}\n{said}"
        assert "nothing to undo" in tiny.run("undo")
        tiny.until(lambda now: not now.ended)
    assert clients.errors() == []
    assert [one.verdict for one in records.history(tiny.api, tiny.names)] == ["promoted", "undone"]
    assert tiny.state().held[commit].verdict == "undone"
