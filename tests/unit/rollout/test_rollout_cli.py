"""The terminal: every command through the real argument parser, on the fake API server."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from rollout import cli, cli_commands, cli_emergency, records, transitions
from rollout.candidate import Hold, HoldKind, Phase, Size
from rollout.cluster import core
from rollout.names import EPOCH, RELEASE, BadNames, from_environment
from rollout.records import Record
from rollout.state import Held, Push, Restore, Serving, State
from tests.unit.rollout.fake_api import FakeApi
from tests.unit.rollout.fake_cluster import (
    NAMES,
    api,
    deployment,
    installed,
    now,
    run_lane,
    state,
    write,
)

SHA = "a" * 40


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeApi:
    made = installed()
    for module in (cli_commands, cli_emergency):
        monkeypatch.setattr(module, "Api", lambda _access: made)
        monkeypatch.setattr(module.access, "find", lambda: None)
    monkeypatch.delenv("ROLLOUT_NAMES", raising=False)
    monkeypatch.chdir(tmp_path)
    made.call = controller_is_away  # type: ignore[method-assign]
    return made


def controller_is_away(method: str, path: str, timeout_s: float | None = None) -> bytes:
    return b"" if path.endswith("status?output=json") else b"{}"


def run(*words: str) -> int:
    return cli.main(words, time.monotonic())


def held(fake: FakeApi) -> None:
    started = transitions.started(state(fake), Push(SHA, now(), "hook"), now())
    assert started.candidate is not None
    hold = Hold(HoldKind.INCONCLUSIVE, "3 of 30 samples", now())
    candidate = replace(
        started.candidate, phase=Phase.STEPS, steps=(20, 50), split=20, step_since=now(), hold=hold
    )
    write(fake, replace(started, candidate=candidate))


@pytest.mark.parametrize(
    "words",
    [["--help"], *([name, "--help"] for name in (
        "undo", "abort", "status", "deploy", "split", "promote", "resume", "forget",
        "history", "plan", "init", "hook", "serve",
    ))],
)  # fmt: skip
def test_every_help_has_an_example(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        run(*words)
    assert left.value.code == 0
    assert "example" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words", [[], ["nothing"], ["split"], ["split", "x"], ["deploy"], ["forget"]]
)
def test_wrong_usage_is_exit_status_2(words: list[str]) -> None:
    with pytest.raises(SystemExit) as left:
        run(*words)
    assert left.value.code == 2


def test_status_says_what_serves_what_waits_and_why(
    fake: FakeApi, capsys: pytest.CaptureFixture[str]
) -> None:
    held(fake)
    write(fake, replace(state(fake), queue=Push("b" * 40, now(), "hook")))
    assert run("status") == 0
    text = capsys.readouterr().out
    for word in (
        "release 1 on blue",
        "release 2 on green",
        "20 % (steps 20, 50)",
        "3 of 30",
        "bbbb",
    ):
        assert word in text
    assert run("--output", "json", "status") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["lookups_percent"]["blue"] == 100
    assert told["candidate"]["phase"] == "steps"
    assert told["controller"] == "not reached"


def test_status_shows_the_measured_share_that_the_controller_tells(
    fake: FakeApi, capsys: pytest.CaptureFixture[str]
) -> None:
    held(fake)
    traffic = {"measured_percent": 21.5, "kind": "pass", "why": "40 samples"}
    told = {"epoch": 1, "doing": "waiting", "traffic": traffic}
    fake.call = lambda *_: json.dumps(told).encode()  # type: ignore[method-assign,assignment]
    run("status")
    text = capsys.readouterr().out
    assert "21.5 % of requests; pass: 40 samples" in text
    assert "now        waiting" in text


def test_commits_held_long_ago_are_forgotten_when_a_person_says_so(
    fake: FakeApi, capsys: pytest.CaptureFixture[str]
) -> None:
    long_ago, lately = (Held("rejected", "x", now() - days * 86400) for days in (91, 89))
    write(fake, replace(state(fake), held={"a" * 40: long_ago, "b" * 40: lately}))
    assert run("forget", "--older-than", "90") == 0
    assert "1 held commits forgotten, 1 kept" in capsys.readouterr().out
    assert list(state(fake).held) == ["b" * 40]
    for days in ("90", "nan"):
        assert run("forget", "--older-than", days) == 0
        assert "nothing to forget" in capsys.readouterr().out


def test_a_hold_is_resumed_once(fake: FakeApi, capsys: pytest.CaptureFixture[str]) -> None:
    held(fake)
    assert run("resume") == 0
    assert "goes on" in capsys.readouterr().out
    assert run("resume", "--output", "json") == 0
    assert json.loads(capsys.readouterr().out)["changed"] is False


def test_what_cannot_be_done_is_one_line_on_stderr_and_exit_status_1(
    fake: FakeApi, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in (
        ["split", "5"],
        ["split", "100"],
        ["split", "-3"],
        ["undo", "--to-revision", "9"],
    ):
        assert run(*words) == 1
        text = capsys.readouterr().err
        assert text.startswith("rollout: ")
        assert text.count("\n") == 1


def test_a_release_that_was_never_promoted_is_no_target_for_an_undo(
    fake: FakeApi, capsys: pytest.CaptureFixture[str]
) -> None:
    records.save(api(fake), NAMES, Record(number=2, lane="green", created=1.0, commit=SHA))
    assert run("undo", "--to-revision", "2") == 1
    assert "was never promoted" in capsys.readouterr().out


def test_no_ops_are_said_and_are_no_failure(
    fake: FakeApi, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in (["undo"], ["abort"], ["promote"], ["resume"], ["undo", "--to-revision", "1"]):
        assert run(*words) == 0
        assert "nothing" in capsys.readouterr().out
    assert fake.verbs("patch", "replace", "create") == []


def test_deploy_puts_a_name_or_a_sha_into_the_queue(
    fake: FakeApi, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("deploy", SHA, "--give-up-undo") == 0
    waiting = state(fake).queue
    assert waiting is not None
    assert (waiting.commit, waiting.by, waiting.give_up_undo) == (SHA, "hand", True)
    assert run("deploy", "--branch", "topic") == 0
    waiting = state(fake).queue
    assert waiting is not None
    assert (waiting.commit, waiting.branch) == ("refs/heads/topic", "topic")
    assert not waiting.resolved


def test_waiting_for_a_deploy_ends_with_what_became_of_it(
    fake: FakeApi, capsys: pytest.CaptureFixture[str]
) -> None:
    turns = iter(range(1000))

    def controller(verb: str, path: str) -> None:
        if verb == "get" and path.endswith("/journal") and next(turns) == 5:
            fake.before = lambda verb, path: None
            started = transitions.started(state(fake), Push(SHA, now(), "hand"), now())
            write(fake, transitions.ended(started, "rejected", "unsigned", now()))
            fake.before = controller

    fake.before = controller
    assert run("deploy", SHA, "--wait", "10") == 1
    assert "rejected: unsigned" in capsys.readouterr().out


def answer(fake: FakeApi, change: Callable[[State], State]) -> None:
    """Change the journal, as the controller would, when it has been read a few times."""
    turns = iter(range(1000))

    def controller(verb: str, path: str) -> None:
        if verb == "get" and path.endswith("/journal") and next(turns) == 4:
            fake.before = lambda verb, path: None
            write(fake, change(state(fake)))

    fake.before = controller


def test_a_branch_is_waited_for_by_the_sha_that_the_controller_finds(
    fake: FakeApi, capsys: pytest.CaptureFixture[str]
) -> None:
    def promoted(now_: State) -> State:
        return replace(now_, queue=None, seen=SHA, serving=replace(now_.serving, commit=SHA))

    answer(fake, promoted)
    assert run("deploy", "--branch", "main", "--wait", "10", "--output", "json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["commit"], told["promoted"]) == (SHA, True)


def test_a_branch_that_is_not_there_is_one_line(
    fake: FakeApi, capsys: pytest.CaptureFixture[str]
) -> None:
    answer(
        fake, lambda now_: replace(now_, queue=None, said="refs/heads/x: git fetch: no such ref")
    )
    assert run("deploy", "--branch", "x", "--wait", "10") == 1
    assert "no such ref" in capsys.readouterr().err


def test_waiting_too_long_says_what_was_last(
    fake: FakeApi, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("deploy", SHA, "--wait", "0.3") == 1
    assert "not after 0 s" in capsys.readouterr().err


def test_history_lists_every_release(fake: FakeApi, capsys: pytest.CaptureFixture[str]) -> None:
    run("history")
    assert "promoted" in capsys.readouterr().out
    run("history", "--output", "json")
    assert json.loads(capsys.readouterr().out)[0]["number"] == 1


def test_history_says_that_older_records_were_pruned_and_does_without_a_journal(
    fake: FakeApi, capsys: pytest.CaptureFixture[str]
) -> None:
    write(fake, replace(state(fake), pruned=(3, 4)))
    run("history")
    assert "up to release 4, were pruned: kept are the last 20" in capsys.readouterr().out
    assert run("undo", "--to-revision", "2") == 1
    assert "there is no record of release 2 any more" in capsys.readouterr().err
    del fake.objects[core(NAMES.control, "configmaps", NAMES.journal)]
    run("history")
    assert "pruned" not in capsys.readouterr().out


def test_plan_merges_steps_that_the_traffic_cannot_fill(
    fake: FakeApi, capsys: pytest.CaptureFixture[str]
) -> None:
    run("plan")
    text = capsys.readouterr().out
    assert "starts at once" in text
    assert "merged into the next" in text
    assert "holds for a person" in text


def test_the_hook_is_printed_and_installed_with_the_secrets_token(
    fake: FakeApi, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run("hook") == 1
    assert "--url" in capsys.readouterr().err
    spec = {"clusterIP": "10.0.0.7", "ports": [{"port": 80}]}
    fake.put(core(NAMES.control, "services", "rollout"), spec=spec)
    assert run("hook") == 0
    assert '"http://10.0.0.7:80/push"' in capsys.readouterr().out
    token = base64.b64encode(b"t0p").decode()
    fake.put(core(NAMES.control, "secrets", "webhook"), data={"token": token})
    bare = tmp_path / "r.git"
    (bare / "objects").mkdir(parents=True)
    (bare / "HEAD").write_text("ref: refs/heads/main\n")
    assert run("hook", "--install", str(bare)) == 0
    assert (bare / "hooks/post-receive").stat().st_mode & 0o111


def test_an_undo_that_needs_pods_starts_them_waits_and_then_moves(
    fake: FakeApi, capsys: pytest.CaptureFixture[str]
) -> None:
    run_lane(fake, "green", 2, {RELEASE: "2", EPOCH: "1"})
    run_lane(fake, "blue", 0, {RELEASE: "7", EPOCH: "1"})
    serving = Serving(2, "green", SHA, now())
    write(fake, replace(state(fake), serving=serving, next_number=3))
    # The kubelet: whatever was scaled up is Ready at the next look.
    path = "/apis/apps/v1/namespaces/switchyard/deployments/gateway-blue"

    def kubelet(verb: str, where: str) -> None:
        one = fake.objects[path]
        one["status"] = {
            "observedGeneration": 1, "replicas": one["spec"]["replicas"],
            "updatedReplicas": one["spec"]["replicas"], "readyReplicas": one["spec"]["replicas"],
        }  # fmt: skip

    fake.before = kubelet
    assert run("undo", "--to-revision", "1") == 0, capsys.readouterr()
    text = capsys.readouterr().out
    assert "starting release 1" in text
    after = state(fake)
    assert (after.serving.number, after.serving.lane) == (1, "blue")
    assert fake.objects[path]["spec"]["replicas"] == 2
    assert fake.objects[path]["metadata"]["annotations"][RELEASE] == "1"


def test_an_undo_whose_pods_never_come_moves_nothing_and_says_so(
    fake: FakeApi, capsys: pytest.CaptureFixture[str]
) -> None:
    run_lane(fake, "green", 1, {RELEASE: "9", EPOCH: "1"})
    restore = Restore(1, "green", None, {"gateway": Size(1, 5)}, now())
    write(fake, replace(state(fake), restore=restore))
    records.save(api(fake), NAMES, replace(known_record(), number=1))
    assert run("undo", "--to-revision", "1", "--timeout", "0.5") in (0, 1)
    capsys.readouterr()
    assert state(fake).serving.lane == "blue"


def known_record() -> Record:
    sizes = {"gateway": Size(1, 2)}
    return Record(
        number=1, lane="blue", created=1.0, sizes=sizes, manifests=[deployment("blue")],
        promoted_at=1.0,
    )  # fmt: skip


def test_init_is_refused_for_an_overlay_that_is_not_there(
    fake: FakeApi, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("init", "--lane", "blue") == 1
    assert "no kustomization.yaml" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["{", "[]", '{"unknown": 1}', "3"])
def test_bad_names_in_the_environment_are_one_line(text: str) -> None:
    with pytest.raises(BadNames, match="ROLLOUT_NAMES"):
        from_environment(text)


def test_names_come_from_the_environment() -> None:
    assert from_environment('{"lanes": "other"}').host("x") == "x.other.svc.cluster.local"
    assert from_environment(None) == NAMES
