"""Examine a commit before any pod runs it: signatures, rendering, lint, digests, and its record."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from rollout import examination, manifests, reverts, trust
from rollout.candidate import Candidate
from rollout.git import GitError, Repository
from rollout.observation import Job, JobKind
from rollout.records import Record
from rollout.rendered import Rendered, Unfit, render_lane
from rollout.settings import Settings
from rollout.state import Held


@dataclass(frozen=True)
class Subject:
    """What is examined, and against what. `base` is the serving release's record."""

    candidate: Candidate
    base: Record
    held: Mapping[str, Held]
    settings: Settings
    signers: str


Check = Callable[[Repository, str, Path, Rendered, Record], list[str]]
"""One more check of a checkout: repository, commit, folder, manifests, base; its findings."""


def examine(
    repository: Repository,
    subject: Subject,
    *,
    checks: list[Check],
    say: Callable[[str], None],
) -> tuple[Job, Record]:
    """The passed job and the record to keep.

    Raises Unfit (or BadManifest, NoScenarios, TooLarge) for a commit that may not
    run, GitError or PolicyError where the examination itself could not be made.
    """
    candidate, base = subject.candidate, subject.base
    say("verifying signatures")
    bring(repository, candidate, subject.settings)
    verify(repository, subject)
    with tempfile.TemporaryDirectory(prefix="checkout-") as folder:
        tree = Path(folder, "tree")
        say("rendering")
        repository.checkout(candidate.commit, tree)
        rendered = render_lane(tree, candidate.lane)
        say("linting")
        found = (check(repository, candidate.commit, tree, rendered, base) for check in checks)
        refuse_if([line for lines in found for line in lines])
    record = make_record(repository, subject, rendered)
    examination.scenarios(examination.chosen(base, record))
    bad = reverts.inside(repository, base.commit, candidate.commit, subject.held)
    job = Job(
        JobKind.EXAMINE,
        candidate.number,
        done=True,
        passed=True,
        why=bad.why if bad else "fit to run",
        contains=bad.commit if bad else "",
        sizes=record.sizes,
    )
    return job, record


def verify(repository: Repository, subject: Subject) -> None:
    """Every commit from the base to the candidate is trusted today. Raises Unfit."""
    refusals = trust.verify(
        repository,
        subject.base.commit,
        subject.candidate.commit,
        subject.signers,
        datetime.now(UTC),
        subject.settings.ticket,
    )
    refuse_if([str(refusal) for refusal in refusals])


def refuse_if(findings: list[str]) -> None:
    """Raises Unfit with the first finding and the number of the others."""
    if findings:
        more = f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
        raise Unfit(f"{findings[0]}{more}")


def bring(repository: Repository, candidate: Candidate, settings: Settings) -> None:
    """Fetch the candidate's branch if the clone lacks its commit. Raises Unfit if it is not there.

    Raises GitError when the repository cannot be reached, which is not the commit's fault.
    """
    if has(repository, candidate.commit):
        return
    if not settings.git_url:
        raise GitError("no repository: an admin sets git_url in the ConfigMap rollout-settings")
    branch = candidate.branch or settings.branch
    repository.fetch(branch)
    if not has(repository, candidate.commit):
        short = candidate.commit[:12]
        raise Unfit(f"{short} is not on branch {branch} of {settings.git_url}: push it there")


def has(repository: Repository, commit: str) -> bool:
    """Whether the clone holds the commit."""
    try:
        return bool(repository.resolve(commit))
    except GitError:
        return False


def make_record(repository: Repository, subject: Subject, rendered: Rendered) -> Record:
    """The record of a release that is about to run. Raises BadManifest."""
    candidate, commit = subject.candidate, subject.candidate.commit
    commits = repository.commits(subject.base.commit, commit)
    subjects = [one.subject for one in commits]
    tickets = {found for line in subjects for found in subject.settings.ticket.all_in(line)}
    return Record(
        number=candidate.number,
        lane=manifests.lane_of(rendered.canary),
        created=time.time(),
        commit=commit,
        tree=repository.tree_id(commit),
        subject=subjects[-1] if subjects else "",
        tickets=tuple(sorted(ticket.strip("[]") for ticket in tickets)),
        images=manifests.images(rendered.canary),
        manifests_sha3=manifests.neutral_hash(rendered.canary),
        predecessor=subject.base.number,
        sizes=manifests.sizes(rendered.canary, rendered.prod),
        scenarios=examination.texts(repository, commit),
        manifests=rendered.canary,
    )
