"""The post-receive hook, run by a real git push."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from rollout import hook
from rollout.hook import CannotInstall


class Webhook(HTTPServer):
    told: list[tuple[str, dict[str, str]]] = []  # noqa: RUF012


class Handler(BaseHTTPRequestHandler):
    server: Webhook

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.told.append((self.headers["Authorization"], body))
        answer = json.dumps({"said": "accepted"}).encode()
        self.send_response(202)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def webhook() -> Iterator[Webhook]:
    made = Webhook(("127.0.0.1", 0), Handler)
    made.told = []
    threading.Thread(target=made.serve_forever, args=(0.02,), daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


def git(*words: str) -> subprocess.CompletedProcess[str]:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    nobody = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    return subprocess.run(
        ["git", *identity, *words], env={**os.environ, **nobody},
        capture_output=True, text=True, check=True,
    )  # fmt: skip


@pytest.fixture
def pushed(tmp_path: Path) -> tuple[Path, Path]:
    tree, bare = tmp_path / "tree", tmp_path / "bare repo.git"
    git("init", "-q", "-b", "main", str(tree))
    git("init", "-q", "--bare", str(bare))
    git("-C", str(tree), "commit", "-q", "--allow-empty", "-m", "x")
    return tree, bare


def test_a_push_tells_the_controller_and_prints_its_word(
    pushed: tuple[Path, Path], webhook: Webhook
) -> None:
    tree, bare = pushed
    hook.install(bare, f"http://127.0.0.1:{webhook.server_port}/push", "top-secret")
    done = git("-C", str(tree), "push", str(bare), "HEAD:main")
    assert "rollout: accepted" in done.stderr
    authorization, body = webhook.told[0]
    assert authorization == "Bearer top-secret"
    assert body["ref"] == "refs/heads/main"
    assert body["after"] == git("-C", str(tree), "rev-parse", "HEAD").stdout.strip()


def test_a_controller_that_is_away_refuses_no_push(pushed: tuple[Path, Path]) -> None:
    tree, bare = pushed
    hook.install(bare, "http://127.0.0.1:1/push", "top-secret")
    done = git("-C", str(tree), "push", str(bare), "HEAD:main")
    assert "it will look by itself" in done.stderr


def test_the_token_is_nobody_elses_and_not_in_the_script(pushed: tuple[Path, Path]) -> None:
    path = hook.install(pushed[1], "http://h/push", "top-secret")
    assert "top-secret" not in path.read_text()
    assert stat.S_IMODE((pushed[1] / hook.WEBHOOK_FILE).stat().st_mode) == 0o600
    hook.install(pushed[1], "http://h/push", "another")
    assert (pushed[1] / hook.WEBHOOK_FILE).read_text() == "another\n"


def test_a_hook_of_somebody_else_is_left_alone(pushed: tuple[Path, Path]) -> None:
    (pushed[1] / "hooks/post-receive").write_text("#!/bin/sh\n")
    with pytest.raises(CannotInstall, match="not ours"):
        hook.install(pushed[1], "http://h/push", "t")


@pytest.mark.parametrize("url", ["ftp://x", "http://x/$(id)", 'http://x"', "http://x y", ""])
def test_a_url_that_a_shell_could_misread_is_refused(url: str) -> None:
    with pytest.raises(CannotInstall, match="--url"):
        hook.script(url)


def test_a_folder_that_is_no_bare_repository_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CannotInstall, match="not a bare git repository"):
        hook.install(tmp_path, "http://h/push", "t")
