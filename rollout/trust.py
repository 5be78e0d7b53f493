"""Who may release: every commit of a release is verified, not only its tip.

The allowed signers (OpenSSH's format, `ssh-keygen(1)` ALLOWED SIGNERS) come
from the cluster, never from the tree that is being judged.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from rollout.git import Commit, Repository
from rollout.pattern import Pattern

TICKET = Pattern(r"\[AI-[1-9][0-9]*\]")

_GOOD = re.compile(r'^Good "git" signature for (\S+) with \S+ key (SHA256:\S+)', re.MULTILINE)
_VALID_BEFORE = re.compile(r'valid-before="?([0-9]{8,14}Z?)"?')
_PLAIN_PRINCIPAL = re.compile(r"[^\s*?!,\"]+@[^\s*?!,\"]+")


class PolicyError(Exception):
    """The list of allowed signers itself cannot be used."""


@dataclass(frozen=True)
class Refusal:
    """Why a commit may not be released, and what its author does next."""

    sha: str
    reason: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.sha[:12]}: {self.reason}; {self.remedy}"


def verify(
    repository: Repository,
    base: str | None,
    tip: str,
    allowed_signers: str,
    now: datetime,
    ticket: Pattern = TICKET,
) -> list[Refusal]:
    """Refusals for the commits in `base..tip`, oldest first; empty means trusted.

    `base` is the promoted commit, or None before the first release. Raises
    PolicyError when no signer is left, GitError when the clone cannot be read.
    """
    signers = current_signers(allowed_signers, now)
    if base is not None and not repository.contains(base, tip):
        return [
            Refusal(
                tip,
                f"does not contain the promoted commit {base[:12]}",
                "rebase on it and push again, or use `rollout undo` to go back",
            )
        ]
    with tempfile.TemporaryDirectory(prefix="signers-") as folder:
        policy = Path(folder, "allowed_signers")
        policy.write_text("\n".join(signers) + "\n")
        commits = repository.commits(base, tip)
        found = (_refusal(repository, commit, policy, ticket) for commit in commits)
        return [refusal for refusal in found if refusal is not None]


def current_signers(text: str, now: datetime) -> list[str]:
    """The lines of an allowed-signers file that hold at `now`.

    git checks a key's validity at the *commit's* date, which the signer
    chooses; a key that has expired today is therefore dropped beforehand.
    """
    lines = [line.strip() for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith("#")]
    for line in lines:
        principal = line.split()[0]
        if not _PLAIN_PRINCIPAL.fullmatch(principal):
            raise PolicyError(
                f"allowed signers: {principal!r} is not one plain e-mail address; "
                "give each signer a line of their own"
            )
    kept = [line for line in lines if not _expired(line, now)]
    if not kept:
        raise PolicyError(
            "allowed signers: no valid signer; an admin adds one to the ConfigMap `trust`"
        )
    return kept


def ticketless(commits: Iterable[Commit], ticket: Pattern = TICKET) -> list[Commit]:
    """The commits whose subject names no ticket."""
    return [commit for commit in commits if not ticket.found_in(commit.subject)]


def _refusal(
    repository: Repository, commit: Commit, policy: Path, ticket: Pattern
) -> Refusal | None:
    signer = _signer(repository, commit.sha, policy)
    if signer is None:
        return Refusal(
            commit.sha,
            "no good signature by an allowed signer",
            "sign it (`git rebase --exec 'git commit --amend --no-edit -S'`), "
            "or ask an admin to allow the key",
        )
    for role, address in (("author", commit.author), ("committer", commit.committer)):
        if address.lower() != signer.lower():
            return Refusal(
                commit.sha,
                f"{role} {address} is not the signer {signer}",
                "commit as yourself (`git commit --amend --reset-author -S`)",
            )
    if ticketless([commit], ticket):
        return Refusal(
            commit.sha,
            f"subject {commit.subject[:60]!r} names no ticket",
            "put one in, such as [AI-123] (`git commit --amend -S`)",
        )
    return None


def _signer(repository: Repository, sha: str, policy: Path) -> str | None:
    """The principal whose signature on the commit is good, or None."""
    done = repository.git(
        "verify-commit", "--raw", sha,
        settings=(
            f"gpg.ssh.allowedSignersFile={policy}",
            # Only SSH signatures count: no other verifier may be talked into an opinion.
            "gpg.openpgp.program=/bin/false",
            "gpg.x509.program=/bin/false",
        ),
        check=False,
    )  # fmt: skip
    good = _GOOD.search(done.stderr.decode("utf8", "replace"))
    return good.group(1) if done.returncode == 0 and good else None


def _expired(line: str, now: datetime) -> bool:
    limit = _VALID_BEFORE.search(line)
    if limit is None:
        return False
    digits = limit.group(1).rstrip("Z").ljust(14, "0")
    return datetime.strptime(digits, "%Y%m%d%H%M%S").replace(tzinfo=UTC) <= now
