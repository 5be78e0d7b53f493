"""A bare clone of the repository that is deployed, read through the git command.

Nothing of the machine's or the repository's own configuration is trusted:
system and global settings are off, replace objects are ignored, prompts are
refused. Every call has a limit of time, memory and output: what is read comes
from whoever may push, and a small commit can ask for very much.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rollout import child
from rollout.errors import RolloutError

MAX_COMMITS = 1000
MAX_SUBJECT = 500
MAX_FILE = 1 << 20
"""Bytes of one file that is read."""
MAX_FILES = 20_000
MAX_LISTING = 4 << 20
"""Bytes of the names of a commit's files."""
MAX_TREE = 50 << 20
"""Bytes of all files of a commit that is checked out."""
FETCH_TIMEOUT_S = 30.0
READ_TIMEOUT_S = 20.0

_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_SSH_COMMAND": "ssh -oBatchMode=yes",
    "LC_ALL": "C.UTF-8",
}
_SETTINGS = (
    "transfer.fsckObjects=true",
    "core.hooksPath=/dev/null",
    # A link in a candidate's tree must not lead a reader out of its checkout.
    "core.symlinks=false",
    "protocol.allow=never",
    "protocol.file.allow=always",
    "protocol.git.allow=always",
    "protocol.http.allow=always",
    "protocol.https.allow=always",
    "protocol.ssh.allow=always",
    "safe.directory=*",
)


class GitError(Exception):
    """One line: which git step failed and what git said. Trying again may help."""


class TooLarge(RolloutError):
    """A commit that asks for more than is read of one; trying again does not help."""


@dataclass(frozen=True)
class Commit:
    sha: str
    author: str
    """The author's e-mail address."""
    committer: str
    """The committer's e-mail address."""
    subject: str
    parents: tuple[str, ...]


class Repository:
    """A bare clone at `path` of the repository at `url`."""

    def __init__(self, url: str, path: Path) -> None:
        self.url = url
        self.path = path

    def git(
        self,
        *arguments: str,
        timeout: float = READ_TIMEOUT_S,
        environment: Mapping[str, str] | None = None,
        settings: Sequence[str] = (),
        check: bool = True,
        output: int = child.OUTPUT,
    ) -> subprocess.CompletedProcess[bytes]:
        """Run git in the clone. Raises GitError on failure (if `check`) or time-out.

        Raises TooLarge when git prints more than `output` bytes.
        """
        command = ["git", f"--git-dir={self.path}"]
        for setting in (*_SETTINGS, *settings):
            command += ["-c", setting]
        command += arguments
        try:
            done = child.run(
                command,
                environment={**os.environ, **_ENVIRONMENT, **(environment or {})},
                timeout_s=timeout,
                output=output,
            )
        except child.TooLong:
            raise GitError(f"git {arguments[0]} took longer than {timeout:.0f} s") from None
        except child.TooMuch:
            raise TooLarge(
                f"git {arguments[0]}: more than {output} bytes to read: release in smaller pieces"
            ) from None
        if check and done.returncode != 0:
            raise GitError(f"git {arguments[0]}: {_first_line(done.stderr)}")
        return done

    def fetch(self, branch: str) -> str:
        """Bring `branch` up to date and return its tip.

        A forced push is followed: whether the new tip may be released is for
        `trust.verify` to say, not for the transport.
        """
        if not (self.path / "HEAD").exists():
            self.path.mkdir(parents=True, exist_ok=True)
            self.git("init", "--quiet", "--bare", str(self.path))
        ref = f"refs/heads/{branch}"
        self.git(
            "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--end-of-options",
            self.url, f"+{ref}:{ref}",
            timeout=FETCH_TIMEOUT_S,
        )  # fmt: skip
        return self.resolve(ref)

    def resolve(self, revision: str) -> str:
        """The full sha of a commit named by sha, prefix or ref."""
        done = self.git(
            "rev-parse", "--quiet", "--verify", "--end-of-options", f"{revision}^{{commit}}",
            check=False,
        )  # fmt: skip
        if done.returncode != 0:
            raise GitError(f"no commit {revision!r} in {self.url}: push it, or check the name")
        return done.stdout.decode().strip()

    def commits(self, base: str | None, tip: str) -> list[Commit]:
        """Every commit reachable from `tip` and not from `base`, oldest first."""
        span = [tip] if base is None else [tip, f"^{base}"]
        listing = self.git(
            "log", "-z", "--topo-order", "--reverse", f"--max-count={MAX_COMMITS + 1}",
            "--no-show-signature", "--no-mailmap", "--format=%H%n%ae%n%ce%n%P%n%s", *span, "--",
        ).stdout.decode("utf8", "replace")  # fmt: skip
        found = [_commit(record) for record in listing.split("\0") if record]
        if len(found) > MAX_COMMITS:
            raise TooLarge(f"more than {MAX_COMMITS} commits to verify: release in smaller pieces")
        return found

    def contains(self, ancestor: str, descendant: str) -> bool:
        """Whether `ancestor` is `descendant` or one of its ancestors."""
        done = self.git("merge-base", "--is-ancestor", ancestor, descendant, check=False)
        return done.returncode == 0

    def read(self, sha: str, path: str, most: int = MAX_FILE) -> bytes:
        """The bytes of one file of a commit. Raises TooLarge above `most`."""
        try:
            return self.blob(f"{sha}:{path}", most)
        except TooLarge:
            raise TooLarge(f"{path} is longer than {most} bytes: shorten it") from None

    def blob(self, name: str, most: int = MAX_FILE) -> bytes:
        """The bytes of a blob by its id. Raises TooLarge above `most`."""
        return self.git("cat-file", "blob", name, output=most).stdout

    def tree(self, sha: str, paths: Sequence[str]) -> list[tuple[str, str, str]]:
        """(path, mode, blob sha1) of every file of a commit under `paths`."""
        words = ("ls-tree", "-r", "-z", "--full-tree", sha, "--", *paths)
        listing = self.git(*words, output=MAX_LISTING).stdout
        rows = []
        for record in listing.decode("utf8", "surrogateescape").split("\0"):
            if record:
                head, path = record.split("\t", 1)
                mode, _kind, blob = head.split(" ")
                rows.append((path, mode, blob))
        return rows

    def tree_id(self, sha: str) -> str:
        """The object id of a commit's root tree."""
        return self.git("rev-parse", f"{sha}^{{tree}}").stdout.decode().strip()

    def checkout(self, sha: str, into: Path) -> None:
        """Write a commit's files under `into`, links as plain files. Raises TooLarge."""
        files, size = self._measure(sha)
        if files > MAX_FILES or size > MAX_TREE:
            raise TooLarge(
                f"{sha[:12]} holds {files} files of {size} bytes, more than {MAX_FILES} files "
                f"or {MAX_TREE} bytes: keep what is not deployed elsewhere"
            )
        into.mkdir(parents=True, exist_ok=True)
        index = {"GIT_INDEX_FILE": str(into.parent / f".{into.name}.index")}
        self.git("read-tree", sha, environment=index)
        self.git(f"--work-tree={into}", "checkout-index", "--all", "--force", environment=index)
        Path(index["GIT_INDEX_FILE"]).unlink()

    def _measure(self, sha: str) -> tuple[int, int]:
        """Number of a commit's files and their bytes, without unpacking them."""
        words = ("ls-tree", "-r", "-z", "--full-tree", "--long", sha)
        listing = self.git(*words, output=MAX_LISTING).stdout
        heads = [record.split(b"\t", 1)[0].split() for record in listing.split(b"\0") if record]
        return len(heads), sum(int(head[3]) for head in heads if head[1] == b"blob")


def _commit(record: str) -> Commit:
    sha, author, committer, parents, subject = record.split("\n", 4)
    return Commit(sha, author, committer, subject[:MAX_SUBJECT], tuple(parents.split()))


def _first_line(stderr: bytes) -> str:
    lines = [line for line in stderr.decode("utf8", "replace").splitlines() if line.strip()]
    return lines[0] if lines else "no message"
