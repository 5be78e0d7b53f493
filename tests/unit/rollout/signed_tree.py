"""A work tree whose commits are signed, and the bare clone that a controller would have of it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from rollout.git import Repository

ADDRESS = "ann@example.com"


class Tree:
    """A signed work tree."""

    def __init__(self, folder: Path) -> None:
        self.path, self.key = folder / "tree", folder / "key"
        keygen = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", ADDRESS]
        subprocess.run([*keygen, "-f", str(self.key)], check=True)
        subprocess.run(["git", "init", "-q", "-b", "main", str(self.path)], check=True)
        self.repository = Repository(str(self.path), folder / "bare")

    @property
    def signers(self) -> str:
        return f'{ADDRESS} namespaces="git" {Path(f"{self.key}.pub").read_text()}'

    def git(self, *words: str) -> str:
        identity = {
            f"GIT_{who}_{what}": value
            for who in ("AUTHOR", "COMMITTER")
            for what, value in (("NAME", "Ann"), ("EMAIL", ADDRESS))
        }
        nobody = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_EDITOR": "true"}
        signing = ["-c", "gpg.format=ssh", "-c", f"user.signingkey={self.key}"]
        done = subprocess.run(
            ["git", "-C", str(self.path), *signing, *words],
            env={**os.environ, **identity, **nobody}, capture_output=True, text=True, check=True,
        )  # fmt: skip
        return done.stdout.strip()

    def commit(self, subject: str, file: str = "file", text: str = "b") -> str:
        path = self.path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-S", "-m", subject)
        return self.git("rev-parse", "HEAD")
