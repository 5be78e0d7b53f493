"""The order of taking down, and how processes are told apart."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from deploy.cluster import keeper, processes, records, teardown
from deploy.cluster.processes import Process
from deploy.cluster.status import ComponentState, Status, render
from deploy.cluster.teardown import Command, Kill, Remains, RemoveState, Restore

KEEPER = Process(10, 5, "boot")
MEMBER = Process(11, 6, "boot")


def test_supervisor_dies_first_and_the_memory_of_the_host_goes_last() -> None:
    remains = Remains(
        supervisor=KEEPER,
        processes=[KEEPER, MEMBER],
        links=["switchyard"],
        namespaces=["switchyard"],
        groups=[Path("/sys/fs/cgroup/pids/switchyard")],
        state=Path("/var/lib/switchyard"),
        folders=[Path("/var/lib/cni")],
        settings={"vm/overcommit_memory": "0"},
    )
    actions = teardown.plan(remains)
    assert actions[0] == Kill((KEEPER,))
    assert actions[-1] == RemoveState(Path("/var/lib/switchyard"))
    order = [actions.index(Command(("ip", kind, "delete", "switchyard"))) for kind in
             ("link", "netns")]  # fmt: skip
    assert order == sorted(order)
    assert Restore({"vm/overcommit_memory": "0"}) in actions


def test_nothing_left_means_nothing_to_do() -> None:
    assert not Remains()
    assert teardown.plan(Remains()) == []
    assert teardown.describe(Remains()) == ""


def test_what_is_left_is_named() -> None:
    text = teardown.describe(Remains(processes=[MEMBER], links=["switchyard"]))
    assert text == "processes: 11; interfaces: switchyard"


def test_command_names_with_spaces_and_parentheses_do_not_confuse_the_start_time() -> None:
    fields = " ".join(["S", *["0"] * 18, "4711", "0"])
    assert processes.parse_stat(f"42 (a) (b c) {fields}\n") == ("S", 4711)


def test_a_reused_number_is_another_process() -> None:
    itself = processes.identify(os.getpid())
    assert itself is not None
    assert processes.alive(itself)
    assert not processes.alive(Process(itself.pid, itself.start + 1, itself.boot))
    assert not processes.alive(Process(itself.pid, itself.start, "another boot"))
    assert processes.watch(Process(itself.pid, itself.start + 1, itself.boot)) is None


def test_end_kills_a_process_that_ignores_term_and_counts_a_zombie_as_dead() -> None:
    ignoring = "import signal,sys,time; signal.signal(15, 1); print(flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", ignoring], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        process = processes.identify(child.pid)
        assert process is not None
        processes.end(process, grace=0.1)
        assert processes.identify(child.pid) is None
        assert child.wait() == -9


def test_restart_delay_doubles_up_to_its_limit() -> None:
    assert keeper.delay(0) == 0
    assert keeper.delay(2) == 2 * keeper.delay(1)
    assert keeper.delay(50) == keeper.LONGEST_DELAY_S


def test_half_written_record_counts_as_none(tmp_path: Path) -> None:
    (tmp_path / "pids").mkdir()
    (tmp_path / "pids" / "etcd.json").write_text('{"process": {"pid": 1')
    assert records.read_records(tmp_path) == {}


def test_status_says_where_to_read_about_a_dead_component() -> None:
    dead = ComponentState("etcd", running=False, pid=None, restarts=2, log="/log/etcd.log")
    state = Status("switchyard", True, False, False, "/kubeconfig", "https://a", "r", [dead])
    assert not state.healthy
    assert "NOT healthy" in render(state)
    assert "not running; read /log/etcd.log, restarted 2 times" in render(state)
