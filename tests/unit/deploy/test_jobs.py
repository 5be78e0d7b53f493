"""A Job runs again exactly when something that it reads changed."""

from __future__ import annotations

import pytest

from deploy import jobs
from deploy.errors import ApplyError

JOB = {
    "kind": "Job",
    "metadata": {"namespace": "switchyard-data", "name": "migrate"},
    "spec": {"template": {"spec": {"containers": [{"image": "r/postgres@sha256:1"}]}}},
}
TOKENS = {"tokens.json": "{}"}


class Cluster:
    """One Job, which ends as it is told."""

    def __init__(self, job=None, ends=None):
        self.job, self.ends, self.done = job, ends or {"succeeded": 1}, []

    def get(self, kind, name, namespace):
        assert (kind, name, namespace) == ("job", "migrate", "switchyard-data")
        return self.job

    def run(self, *words, **_):
        assert words[:3] == ("delete", "job", "migrate")
        self.done.append("delete")
        self.job = None

    def apply(self, manifests, manager):
        assert manager == "platform"
        self.done.append("apply")
        self.job = {**manifests[0], "status": self.ends}

    def list(self, kind, namespace, selector):
        assert (kind, selector) == ("pods", "job-name=migrate")
        status = {"name": "migrate", "state": {"terminated": {"exitCode": 3, "reason": "Error"}}}
        return [{"status": {"containerStatuses": [status]}}]


def test_it_runs_the_first_time_and_not_again():
    cluster, wished = Cluster(), jobs.stamped(JOB, TOKENS)
    assert jobs.run(cluster, wished, "platform") is True
    assert jobs.run(cluster, wished, "platform") is False
    assert cluster.done == ["delete", "apply"]


@pytest.mark.parametrize(
    "changed",
    [
        jobs.stamped({**JOB, "spec": {"template": "another image"}}, TOKENS),
        jobs.stamped(JOB, {"tokens.json": '{"t": "c-1"}'}),
    ],
)
def test_it_runs_again_when_its_image_or_the_tokens_changed(changed):
    cluster = Cluster()
    jobs.run(cluster, jobs.stamped(JOB, TOKENS), "platform")
    assert jobs.run(cluster, changed, "platform") is True


def test_a_job_that_has_not_succeeded_is_run_again():
    wished = jobs.stamped(JOB, TOKENS)
    cluster = Cluster({**wished, "status": {"failed": 2}})
    assert jobs.run(cluster, wished, "platform") is True


def test_a_job_that_fails_says_why_and_where_to_look():
    cluster = Cluster(ends={"conditions": [{"type": "Failed", "status": "True"}]})
    with pytest.raises(ApplyError) as bad:
        jobs.run(cluster, jobs.stamped(JOB, TOKENS), "platform")
    assert "ended with exit status 3" in str(bad.value)
    assert "kubectl -n switchyard-data logs job/migrate" in str(bad.value)
