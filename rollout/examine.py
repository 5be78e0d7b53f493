"""Examine a commit before any pod runs it: signatures, rendering, lint, digests, and its record."""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from rollout import manifests, trust
from rollout.git import GitError, Repository
from rollout.manifests import Manifest
from rollout.observation import Job, JobKind
from rollout.records import Record
from rollout.render import RenderError, render
from rollout.settings import Settings
from rollout.state import Candidate, Held

SCENARIOS = "rollout/scenarios"
CANARY = "deploy/overlays/canary/{lane}"
PROD = "deploy/overlays/prod/{lane}"
STAGING = "deploy/overlays/staging"


@dataclass(frozen=True)
class Subject:
    """What is examined, and against what. `base` is the serving release's record."""

    candidate: Candidate
    base: Record
    held: Mapping[str, Held]
    settings: Settings
    signers: str


@dataclass(frozen=True)
class Rendered:
    """A release's manifests; `staging` is empty where there is no rehearsal."""

    canary: list[Manifest]
    prod: list[Manifest]
    staging: list[Manifest]


Check = Callable[[Repository, str, Path, Rendered, Record], list[str]]
"""One more check of a checkout: repository, commit, folder, manifests, base; its findings."""


def examine(
    repository: Repository,
    subject: Subject,
    *,
    rehearse: bool,
    checks: list[Check],
    say: Callable[[str], None],
) -> tuple[Job, Record | None]:
    """The verdict, and the record to keep (None when refused)."""
    candidate = subject.candidate
    say("verifying signatures")
    missing = bring(repository, candidate, subject.settings)
    if missing:
        return _refused(candidate, missing), None
    refusals = trust.verify(
        repository,
        subject.base.commit,
        candidate.commit,
        subject.signers,
        datetime.now(UTC),
        subject.settings.ticket,
    )
    if refusals:
        more = f" (and {len(refusals) - 1} more)" if len(refusals) > 1 else ""
        return _refused(candidate, f"{refusals[0]}{more}"), None
    with tempfile.TemporaryDirectory(prefix="checkout-") as folder:
        tree = Path(folder, "tree")
        say("rendering")
        repository.checkout(candidate.commit, tree)
        try:
            rendered = render_all(tree, candidate.lane, rehearse)
        except RenderError as error:
            return _refused(candidate, str(error)), None
        say("linting")
        found = [
            line
            for check in checks
            for line in check(repository, candidate.commit, tree, rendered, subject.base)
        ]
    if found:
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        return _refused(candidate, f"{found[0]}{more}"), None
    record = make_record(repository, subject, rendered)
    bad = rejected_inside(repository, subject.base.commit, candidate.commit, subject.held)
    job = Job(
        JobKind.EXAMINE,
        candidate.number,
        done=True,
        passed=True,
        why=bad
        and f"it still contains {bad[:12]}, {subject.held[bad].verdict}: revert that commit",
        contains=bad,
        sizes=record.sizes,
    )
    return job, record


def bring(repository: Repository, candidate: Candidate, settings: Settings) -> str:
    """Fetch the candidate's branch if the clone lacks its commit; why it is not there, or ''.

    Raises GitError when the repository cannot be reached, which is not the commit's fault.
    """
    if has(repository, candidate.commit):
        return ""
    if not settings.git_url:
        raise GitError("no repository: an admin sets git_url in the ConfigMap rollout-settings")
    branch = candidate.branch or settings.branch
    repository.fetch(branch)
    if has(repository, candidate.commit):
        return ""
    return f"{candidate.commit[:12]} is not on branch {branch} of {settings.git_url}: push it there"


def has(repository: Repository, commit: str) -> bool:
    """Whether the clone holds the commit."""
    try:
        return bool(repository.resolve(commit))
    except GitError:
        return False


def render_all(tree: Path, lane: str, rehearse: bool) -> Rendered:
    """Render a lane's overlays, and staging's, at once."""
    overlays = [CANARY.format(lane=lane), PROD.format(lane=lane)]
    overlays += [STAGING] if rehearse else []
    with ThreadPoolExecutor(len(overlays)) as pool:
        found = list(pool.map(lambda overlay: render(tree, overlay), overlays))
    return Rendered(found[0], found[1], found[2] if rehearse else [])


def make_record(repository: Repository, subject: Subject, rendered: Rendered) -> Record:
    """The record of a release that is about to run. Raises BadManifest."""
    candidate, commit = subject.candidate, subject.candidate.commit
    commits = repository.commits(subject.base.commit, commit)
    subjects = [one.subject for one in commits]
    tickets = {found for line in subjects for found in re.findall(subject.settings.ticket, line)}
    return Record(
        number=candidate.number,
        lane=manifests.lane_of(rendered.canary),
        created=time.time(),
        commit=commit,
        tree=repository.tree_id(commit),
        subject=subjects[-1] if subjects else "",
        tickets=tuple(sorted(str(ticket).strip("[]") for ticket in tickets)),
        images=manifests.images(rendered.canary),
        manifests_sha3=manifests.neutral_hash(rendered.canary),
        predecessor=subject.base.number,
        sizes=manifests.sizes(rendered.canary, rendered.prod),
        scenarios=scenarios(repository, commit, subject.base),
        manifests=rendered.canary,
        staging=rendered.staging,
    )


def scenarios(repository: Repository, commit: str, base: Record) -> dict[str, str]:
    """The candidate's scenario texts by file name."""
    found = {}
    for path, mode, _blob in repository.tree(commit, [SCENARIOS]):
        if path.endswith((".yaml", ".yml")) and mode.startswith("100"):
            found[Path(path).name] = repository.read(commit, path).decode("utf8", "replace")
    return found


def examination(base: Record, candidate: Record) -> dict[str, str]:
    """The scenarios that judge a candidate: the promoted release's, and what it adds itself.

    So a commit cannot weaken its own examination by editing or deleting one.
    """
    return {**candidate.scenarios, **base.scenarios}


def rejected_inside(
    repository: Repository, base: str | None, tip: str, held: Mapping[str, Held]
) -> str:
    """A held commit that `tip` contains, that is not promoted since and not reverted; or ''."""
    for commit in held:
        if commit == tip or not repository.contains(commit, tip):
            continue
        if base is not None and repository.contains(commit, base):
            continue
        bodies = repository.git("log", "--format=%b", f"{commit}..{tip}", "--").stdout
        if f"This reverts commit {commit}" not in bodies.decode("utf8", "replace"):
            return commit
    return ""


def _refused(candidate: Candidate, why: str) -> Job:
    return Job(JobKind.EXAMINE, candidate.number, done=True, why=why)
