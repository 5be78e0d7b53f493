"""The whole road on a real cluster, with a tiny app so that it takes seconds."""

from __future__ import annotations

import time

from rollout import records
from rollout.candidate import Phase
from tests.cluster.tiny_cluster import Clients, Tiny, tell


def test_a_signed_push_is_promoted_and_undone_and_no_request_fails(tiny: Tiny) -> None:
    tiny.serve()
    with Clients(tiny) as clients:
        commit = tiny.forge.commit("[AI-1] greet", RELEASE="2")
        assert "release 2" in tiny.run("deploy", commit, "--wait", "90")
        state = tiny.until(lambda now: not now.ended)
        assert (state.serving.number, state.serving.lane) == (2, "green"), tiny.log()
        tiny.traffic_is_on("green")
        time.sleep(1)
        assert set(clients.lanes("cached", time.monotonic() - 0.5)) == {"green"}
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


def test_a_wrong_answer_never_gets_traffic_and_the_commit_is_held(tiny: Tiny) -> None:
    tiny.serve()
    commit = tiny.forge.commit("[AI-2] spoil", TEXT="no idea")
    said = tiny.run("deploy", commit, "--wait", "60", status=1)
    assert "does not match" in said
    tiny.traffic_is_on("blue")
    assert tiny.state().held[commit].verdict == "rejected"
    fixed = tiny.forge.commit("[AI-3] on top of it", RELEASE="3")
    assert "still contains" in tiny.run("deploy", fixed, "--wait", "60", status=1)
    tiny.run("resume")
    tiny.until(lambda now: now.candidate is not None and now.candidate.phase is not Phase.VERIFY)
    assert "aborted" in tiny.run("abort")
    assert "nothing to abort" in tiny.run("abort")


def test_a_release_that_is_slow_for_customers_is_undone_during_a_step(tiny: Tiny) -> None:
    tiny.serve()
    with Clients(tiny) as clients:
        commit = tiny.forge.commit("[AI-4] slow", SLOW_S="0.8")
        assert "P95" in tiny.run("deploy", commit, "--wait", "90", status=1)
        tiny.until(lambda now: not now.ended)
        tiny.traffic_is_on("blue")
    assert clients.errors() == []
    assert clients.lanes("lookup")["green"] > 0
    assert clients.lanes("cached")["green"] == 0


def test_an_unsigned_commit_is_refused_with_its_remedy_before_any_pod(tiny: Tiny) -> None:
    tiny.serve()
    commit = tiny.forge.commit("[AI-5] unsigned", sign=False)
    said = tiny.run("deploy", commit, "--wait", "30", status=1)
    assert "no good signature" in said
    assert "sign it" in said
    assert tiny.replicas("green") == 0
    unnamed = tiny.forge.commit("no ticket")
    assert "no good signature" in tiny.run("deploy", unnamed, "--wait", "30", status=1)


def test_a_push_supersedes_before_the_scenarios_passed_and_waits_afterwards(tiny: Tiny) -> None:
    tiny.serve()
    with Clients(tiny):
        first = tiny.forge.commit("[AI-6] first", RELEASE="2")
        tell(tiny, first)
        tiny.until(lambda now: now.candidate is not None)
        second = tiny.forge.commit("[AI-7] second", RELEASE="3")
        assert tell(tiny, second) == f"{second[:12]} takes the place of release 2"
        tiny.until(lambda now: now.candidate is not None and now.candidate.phase is Phase.STEPS)
        third = tiny.forge.commit("[AI-8] third", RELEASE="4")
        assert "waits for release 3" in tell(tiny, third)
        state = tiny.until(lambda now: now.candidate is None and now.serving.number == 3)
        assert state.queue is not None
        assert "already waits" in tell(tiny, third)
        said = tiny.run("deploy", third, "--give-up-undo", "--wait", "60")
        assert "release 4 serves on blue" in said
        tiny.until(lambda now: not now.ended)  # the records follow the journal
    verdicts = {one.number: one.verdict for one in records.history(tiny.api, tiny.names)}
    assert verdicts == {1: "promoted", 3: "promoted", 4: "promoted"} | (
        {2: "superseded"} if 2 in verdicts else {}
    )


def test_an_older_release_is_started_on_the_idle_lane_and_then_serves(tiny: Tiny) -> None:
    tiny.serve()
    with Clients(tiny) as clients:
        for number in (2, 3):
            commit = tiny.forge.commit(f"[AI-9] {number}", RELEASE=str(number))
            tiny.run("deploy", commit, "--give-up-undo", "--wait", "60")
        # Release 2 was rendered for green; blue serves, so it must come back on green.
        tiny.traffic_is_on("blue")
        assert "no release 9" in tiny.run("undo", "--to-revision", "9", status=1)
        said = tiny.run("undo", "--to-revision", "1")
        assert "starting release 1 again" in said
        tiny.traffic_is_on("green")
        time.sleep(1)
    assert clients.errors() == []
    state = tiny.state()
    assert (state.serving.number, state.serving.lane) == (1, "green")
