"""Which processes belong to a pod, however the node's control groups are written."""

import pytest

from observability.agent.pods import Cluster, Pod, owner, parse
from observability.bpf.errors import TraceError

POD = Pod("0a1b2c3d-0000-4000-8000-00000000000f", "switchyard", "gateway-blue-x", "blue")


@pytest.mark.parametrize(
    "cgroup",
    [
        "0::/kubepods/burstable/pod0a1b2c3d-0000-4000-8000-00000000000f/4f5e\n",
        "0::/kubepods.slice/kubepods-pod0a1b2c3d_0000_4000_8000_00000000000f.slice/cri-1.scope\n",
        "12:cpu:/x\n1:name=systemd:/kubepods/pod0a1b2c3d-0000-4000-8000-00000000000f/4f5e\n",
        "0::/../../burstable/pod0a1b2c3d-0000-4000-8000-00000000000f/4f5e\n",
    ],
)
def test_its_own_control_group(cgroup: str) -> None:
    assert owner(cgroup, [POD]) == POD


@pytest.mark.parametrize("cgroup", ["", "0::/\n", "0::/kubepods/podffff/4f5e\n"])
def test_another_one(cgroup: str) -> None:
    assert owner(cgroup, [POD]) is None


def test_the_api_servers_list() -> None:
    meta = {"uid": POD.uid, "namespace": "switchyard", "name": POD.name}
    listed = {
        "items": [
            {"metadata": meta | {"labels": {"lane": "blue", "app": "gateway"}}},
            {"metadata": meta | {"uid": "2"}},
        ]
    }
    assert [pod.lane for pod in parse(listed)] == ["blue", ""]
    assert parse(listed)[0] == POD


def test_outside_a_pod_there_is_no_account() -> None:
    with pytest.raises(TraceError, match="no pod with an account of its own"):
        Cluster({})
