"""What is said about a pod that is not Ready, and when waiting ends early."""

from __future__ import annotations

import pytest

from deploy.errors import ApplyError
from deploy.waits import hopeless, ready, trouble, workloads

WORKLOAD = {
    "kind": "Deployment",
    "metadata": {"namespace": "switchyard", "name": "gateway-blue"},
    "spec": {"selector": {"matchLabels": {"lane": "blue", "app": "gateway"}}},
}


def pod(state, *, restarts=0, last=None, container_ready=False):
    status = {"name": "gateway", "state": state, "ready": container_ready}
    status |= {"restartCount": restarts, "lastState": last or {}}
    return {"metadata": {"name": "p"}, "status": {"containerStatuses": [status]}}


PULLING = pod({"waiting": {"reason": "ImagePullBackOff", "message": "not found"}})
STARTING = pod({"running": {}})
ENDED = {"terminated": {"exitCode": 2, "reason": "Error"}}
CRASHING = pod({"waiting": {"reason": "CrashLoopBackOff"}}, restarts=3, last=ENDED)
CREATING = pod({"waiting": {"reason": "ContainerCreating"}})
GOOD = pod({"running": {}}, container_ready=True, restarts=7)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (PULLING, "gateway: ImagePullBackOff not found"),
        (STARTING, "gateway: runs, but its probe does not pass yet"),
        (CRASHING, "gateway: ended with exit status 2 (Error)"),
        (CREATING, ""),
        (GOOD, ""),
    ],
)
def test_the_reason_of_a_pod_is_told_in_a_few_words(found, said):
    assert trouble(found) == said


def test_a_pod_that_fits_no_node_is_told():
    condition = {"type": "PodScheduled", "status": "False", "message": "Insufficient cpu"}
    assert trouble({"status": {"conditions": [condition]}}) == "not scheduled: Insufficient cpu"


@pytest.mark.parametrize(
    ("found", "expected"),
    [(PULLING, True), (CRASHING, True), (STARTING, False), (CREATING, False), (GOOD, False)],
)
def test_only_what_cannot_get_better_is_hopeless(found, expected):
    assert hopeless(found) is expected


class Cluster:
    """Answers as kubectl would; anything else that is asked is an error."""

    def __init__(self, pods, patience=0):
        self.pods, self.patience, self.asked = pods, patience, 0

    def run(self, *words, **_):
        assert words[:2] == ("rollout", "status")
        self.asked += 1
        if self.asked > self.patience >= 1:
            return ""
        raise ApplyError("timed out waiting for the condition")

    def list(self, kind, namespace, selector):
        assert (kind, namespace) == ("pods", "switchyard")
        assert selector == "app=gateway,lane=blue"
        return self.pods


def test_a_slow_start_is_waited_for():
    cluster = Cluster([STARTING], patience=3)
    ready(cluster, [WORKLOAD], within_s=60)
    assert cluster.asked == 4


def test_a_hopeless_pod_ends_the_wait_at_once_with_the_commands_to_look_further():
    cluster = Cluster([CRASHING])
    with pytest.raises(ApplyError) as bad:
        ready(cluster, [WORKLOAD], within_s=60)
    assert cluster.asked == 1
    assert "switchyard/gateway-blue is not Ready: gateway: ended with exit status 2" in str(
        bad.value
    )
    assert "kubectl -n switchyard describe pods -l app=gateway,lane=blue" in str(bad.value)
    assert "kubectl -n switchyard logs -l app=gateway,lane=blue" in str(bad.value)


def test_a_pod_that_is_going_away_says_nothing_about_its_successor():
    going = {**CRASHING, "metadata": {"name": "p", "deletionTimestamp": "now"}}
    cluster = Cluster([going, STARTING], patience=2)
    ready(cluster, [WORKLOAD], within_s=60)
    assert cluster.asked == 3


def test_without_any_pod_that_is_said():
    with pytest.raises(ApplyError, match="no pod was made"):
        ready(Cluster([]), [WORKLOAD], within_s=0)


def test_only_what_stays_is_waited_for():
    kinds = ["Namespace", "Deployment", "Job", "StatefulSet", "DaemonSet"]
    found = [item["kind"] for item in workloads([{"kind": kind} for kind in kinds])]
    assert found == ["Deployment", "StatefulSet", "DaemonSet"]
