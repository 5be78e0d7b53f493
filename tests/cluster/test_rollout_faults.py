"""What happens when the controller, the journal or the API server is not there."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from rollout import lane_apply, lanes, sequences
from rollout.candidate import Phase
from rollout.cluster import core
from rollout.errors import Superseded
from rollout.wanted import wanted
from tests.cluster.tiny_cluster import ROOT, Clients, Tiny, tell


def test_killed_in_each_phase_the_next_process_continues(tiny: Tiny) -> None:
    with Clients(tiny) as clients:
        process = tiny.serve()
        tell(tiny, tiny.forge.commit("[AI-1] greet", RELEASE="2"))
        for phase in Phase:
            seen = tiny.until(lambda now, at=phase: now.candidate and now.candidate.phase is at)
            process.kill()
            process.wait()
            before = tiny.state()
            assert before.candidate is not None, f"killed too late for {phase}"
            process = tiny.serve()
            assert tiny.until(lambda now, old=seen: now.epoch > old.epoch)
        state = tiny.until(lambda now: now.candidate is None and not now.ended)
    assert state.serving.number == 2, tiny.log()
    tiny.traffic_is_on("green")
    assert clients.errors() == []


def open_split(tiny: Tiny) -> subprocess.Popen[bytes]:
    """A controller and a candidate that has a share and keeps it."""
    process = tiny.serve()
    tell(tiny, tiny.forge.commit("[AI-1] greet", RELEASE="2"))
    tiny.until(lambda now: now.candidate is not None and now.candidate.phase is Phase.STEPS)
    tiny.run("split", "30", "--wait", "20")
    return process


def test_a_paused_controller_that_wakes_after_an_undo_moves_nothing(tiny: Tiny) -> None:
    with Clients(tiny) as clients:
        process = open_split(tiny)
        before, found = tiny.state(), sequences.read(tiny.api, tiny.names)
        process.send_signal(signal.SIGSTOP)
        said = tiny.run("undo")
        assert "release 2 undone at 30 %" in said
        tiny.traffic_is_on("blue")
        # What the paused process was about to write, had it been paused just before.
        assert before.candidate is not None
        wider = replace(before, candidate=replace(before.candidate, split=50))
        late = wanted(wider, tiny.names)
        with pytest.raises(Superseded):
            sequences.shift(tiny.api, tiny.names, found, late, before.epoch, settle=False)
        with pytest.raises(Superseded):
            lanes.scale(tiny.api, tiny.names.lanes, "blue", {"gateway": 0}, before.epoch)
        with pytest.raises(Superseded):
            lane_apply.apply(tiny.api, tiny.names.lanes, "blue", [], 2, before.epoch)
        process.send_signal(signal.SIGCONT)
        tiny.until(lambda now: not now.ended)
        time.sleep(1)
        tiny.traffic_is_on("blue")
    assert clients.errors() == []
    assert tiny.state().candidate is None
    assert tiny.state().epoch == before.epoch + 1


def test_abort_in_the_split_needs_no_controller(tiny: Tiny) -> None:
    with Clients(tiny) as clients:
        process = open_split(tiny)
        process.kill()
        process.wait()
        assert "aborted at 30 %" in tiny.run("abort")
        tiny.traffic_is_on("blue")
        assert "nothing to undo" in tiny.run("undo")
    assert clients.errors() == []


def test_undo_works_without_a_journal_and_init_makes_it_anew(tiny: Tiny) -> None:
    with Clients(tiny) as clients:
        process = open_split(tiny)
        process.kill()
        process.wait()
        path = core(tiny.names.control, "configmaps", tiny.names.journal)
        tiny.api.delete(path)
        assert "going by the Services" in tiny.run("undo")
        tiny.traffic_is_on("blue")
        assert "no journal" in tiny.run("status", status=1)
        assert "rebuilding the journal" in tiny.run("init", "--lane", "blue")
        tiny.serve()
        tiny.until(lambda now: now.epoch > 1)
        assert tiny.state().serving.number == 1
        tiny.traffic_is_on("blue")
    assert clients.errors() == []


def test_the_split_stands_while_the_api_server_restarts_and_goes_on_after(tiny: Tiny) -> None:
    with Clients(tiny) as clients:
        open_split(tiny)
        restart = [sys.executable, "-m", "deploy.cluster", "restart", "kube-apiserver"]
        subprocess.run(restart, cwd=ROOT, check=True, capture_output=True, timeout=120)
        tiny.until(lambda now: now.candidate is not None and now.candidate.split == 30)
        seen = clients.lanes("lookup", time.monotonic() - 2)
        tiny.run("resume")
        tiny.until(lambda now: now.candidate is None and not now.ended)
    assert set(seen) == {"blue", "green"}
    assert clients.errors() == []
    tiny.traffic_is_on("green")
