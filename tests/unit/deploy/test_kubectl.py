"""kubectl's failures become one line."""

from __future__ import annotations

import json

import pytest

from deploy.errors import ApplyError
from deploy.kubectl import Kubectl


@pytest.fixture
def nowhere(tmp_path):
    """A cluster whose API server nobody answers for."""
    file = tmp_path / "kubeconfig"
    cluster = {"name": "c", "cluster": {"server": "http://127.0.0.1:9"}}
    context = {"name": "c", "context": {"cluster": "c", "user": ""}}
    config = {"apiVersion": "v1", "kind": "Config", "current-context": "c"}
    file.write_text(json.dumps({**config, "clusters": [cluster], "contexts": [context]}))
    return Kubectl(str(file))


def test_a_cluster_that_does_not_answer_is_one_line(nowhere):
    with pytest.raises(ApplyError, match="kubectl get service") as bad:
        nowhere.get("service", "assistant-stable", "switchyard")
    assert "\n" not in str(bad.value)
    assert "refused" in str(bad.value)


def test_what_is_applied_does_not_stand_in_the_message(nowhere):
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s"},
        "data": {"k": "SECRET"},
    }
    with pytest.raises(ApplyError) as bad:
        nowhere.apply([secret], "platform")
    assert "SECRET" not in str(bad.value)


def test_a_call_that_takes_too_long_says_where_to_look(nowhere):
    with pytest.raises(ApplyError, match=r"no answer in 0\.001 s: run `python -m deploy\.cluster"):
        nowhere.run("version", timeout_s=0.001)
