"""The demo's developer: a throw-away key, a work tree, a bare repository that is served.

The work tree is this tree's tracked files plus the lock that `make up` wrote
for its registry. A change is a patch under `changes/`: its image is built and
pushed first, then source and digest are committed together and signed.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CHANGES = Path(__file__).with_name("changes")
DEVELOPER = "dana@example.com"
GENERATED = ("images/images.lock", "deploy/components/images/kustomization.yaml")


class WorkshopError(RuntimeError):
    """One line: which preparation failed."""


def run(*command: str | Path, cwd: Path | None = None, timeout: float = 600) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd, capture_output=True, text=True, timeout=timeout, check=False,
        env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"},
    )  # fmt: skip
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise WorkshopError(f"{' '.join(map(str, command))}: {said[-1] if said else 'failed'}")
    return done.stdout.strip()


def default_folder() -> Path:
    """$XDG_STATE_HOME/switchyard/demo, or the same below ~/.local/state."""
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base) / "switchyard" / "demo"


@dataclass(frozen=True)
class Change:
    """One commit on its way: what to apply, what to build, what to say."""

    patch: str
    image: str
    subject: str


class Workshop:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tree = folder / "tree"
        self.bare = folder / "served" / "assistant.git"
        self.key = folder / "key"

    def open(self, serving: str | None) -> str:
        """Make a new key, and tree and bare repository if need be; returns the first commit.

        `serving` is the commit that the cluster serves. One of an earlier demo is gone
        on from, because a release contains the one before it. Raises WorkshopError if
        its repository is not here.
        """
        if serving is None:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.tree.mkdir(parents=True)
            run("git", "init", "-q", "--bare", "-b", "main", self.bare)
            self.git("init", "-q", "-b", "main")
        else:
            self.go_on_from(serving)
        self.new_key()
        for setting, value in (
            ("user.name", "Dana"), ("user.email", DEVELOPER), ("gpg.format", "ssh"),
            ("user.signingkey", str(self.key)), ("commit.gpgsign", "true"),
            ("remote.origin.url", str(self.bare)),
        ):  # fmt: skip
            self.git("config", setting, value)
        self.copy_tree()
        return self.commit("[AI-100] The assistant as the admin installed it")

    def go_on_from(self, serving: str) -> None:
        """An empty tree on top of the commit that serves; the bare repository's main is there."""
        try:
            self.git("checkout", "-q", "--force", "--detach", serving)
            run("git", f"--git-dir={self.bare}", "update-ref", "refs/heads/main", serving)
        except (WorkshopError, OSError):
            raise WorkshopError(
                f"the cluster serves {serving[:12]}, and no demo left its repository in "
                f"{self.folder}: `make down` and `make up` start afresh"
            ) from None
        self.git("rm", "-r", "-q", "--force", ".")
        self.git("clean", "-q", "-d", "-x", "--force")

    def new_key(self) -> None:
        for old in (self.key, Path(f"{self.key}.pub")):
            old.unlink(missing_ok=True)
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", DEVELOPER]
        run(*command, "-f", self.key)

    def copy_tree(self) -> None:
        listed = run("git", "ls-files", "-z", "--cached", cwd=ROOT).split("\0")
        for name in [*filter(None, listed), *GENERATED]:
            source, target = ROOT / name, self.tree / name
            if not source.exists():
                raise WorkshopError(f"{name} is missing: run `make up` first")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)

    @property
    def allowed_signers(self) -> str:
        return f'{DEVELOPER} namespaces="git" {Path(f"{self.key}.pub").read_text()}'

    def git(self, *arguments: str) -> str:
        return run("git", *arguments, cwd=self.tree)

    def commit(self, subject: str, sign: bool = True) -> str:
        self.git("add", "--all", "--force", ".")
        self.git(
            "commit", "-q", "--allow-empty", "-m", subject, *([] if sign else ["--no-gpg-sign"])
        )
        return self.git("rev-parse", "HEAD")

    def prepare(self, base: str, change: Change) -> str:
        """A signed commit of `change` on top of `base`, its image built and pushed."""
        self.git("checkout", "-q", "--detach", base)
        self.git("apply", str(CHANGES / change.patch))
        run(sys.executable, "-m", "images", "build", change.image, "--push", "--root", self.tree,
            cwd=ROOT)  # fmt: skip
        return self.commit(change.subject)

    def revert(self, commit: str) -> str:
        """A signed commit on top of `commit` that takes it back."""
        self.git("checkout", "-q", "--detach", commit)
        self.git("revert", "--no-edit", commit)
        return self.git("rev-parse", "HEAD")

    def install_hook(self) -> None:
        """Let the bare repository tell the controller of each push."""
        run(sys.executable, "-m", "rollout", "hook", "--install", self.bare, cwd=ROOT)

    def push(self, commit: str) -> str:
        """Push `commit` to main; returns what the remote printed (the hook's lines)."""
        done = subprocess.run(
            ["git", "push", "origin", f"{commit}:refs/heads/main"],
            cwd=self.tree, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            raise WorkshopError(f"git push: {done.stderr.strip()}")
        return done.stderr


class Served:
    """`git daemon` over one folder, for as long as the `with` block lasts."""

    def __init__(self, workshop: Workshop, address: str) -> None:
        self.folder = workshop.bare.parent
        self.address, self.port = address, free_port(address)
        self.url = f"git://{address}:{self.port}/{workshop.bare.name}"

    def __enter__(self) -> Served:
        self.process = subprocess.Popen(
            ["git", "daemon", "--export-all", f"--base-path={self.folder}", "--reuseaddr",
             f"--listen={self.address}", f"--port={self.port}", str(self.folder)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        for _ in range(50):
            if self.process.poll() is None and answers(self.address, self.port):
                return self
            time.sleep(0.1)
        raise WorkshopError(f"git daemon does not answer on {self.address}:{self.port}")

    def __exit__(self, *_: object) -> None:
        os.killpg(self.process.pid, signal.SIGTERM)
        self.process.wait(10)


def free_port(address: str) -> int:
    """A port that nobody listens on now: a server that was left over must not answer for us."""
    with socket.socket() as probe:
        probe.bind((address, 0))
        return int(probe.getsockname()[1])


def answers(address: str, port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((address, port)) == 0
