"""Which cluster is meant, and the one line when it cannot be told."""

from __future__ import annotations

import pytest

from deploy.cluster.topology import Cluster
from deploy.errors import ApplyError
from deploy.target import target


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Our own cluster's kubeconfig, in a folder of the test."""
    monkeypatch.setattr("deploy.cluster.topology.STATE_PARENT", tmp_path)
    file = Cluster(0, tmp_path).kubeconfig
    file.parent.mkdir()
    file.write_text("{}")
    return file


def test_without_a_kubeconfig_it_is_our_own_cluster(own):
    found = target({})
    assert (found.local, found.kubeconfig) == (True, str(own))
    assert found.overlay == "deploy/overlays/local"
    assert found.registry == "10.203.0.2:5000"


def test_our_own_kubeconfig_by_name_is_still_our_own_cluster(own):
    assert target({"KUBECONFIG": str(own)}).local


def test_another_kubeconfig_is_anothers_cluster(own, tmp_path):
    other = tmp_path / "other"
    other.write_text("{}")
    found = target({"KUBECONFIG": str(other), "REGISTRY": "registry.example"})
    assert (found.local, found.overlay) == (False, "deploy/overlays/platform")
    assert found.registry == "registry.example"


def test_anothers_cluster_needs_a_registry(own, tmp_path):
    other = tmp_path / "other"
    other.write_text("{}")
    with pytest.raises(ApplyError, match="REGISTRY is not set: name the registry"):
        target({"KUBECONFIG": str(other)})


def test_one_of_several_kubeconfigs_is_enough(own, tmp_path):
    other = tmp_path / "other"
    other.write_text("{}")
    named = f"{tmp_path / 'none'}:{other}"
    assert target({"KUBECONFIG": named, "REGISTRY": "registry.example"}).kubeconfig == named


def test_a_cluster_that_was_not_started_is_said_with_the_command_that_starts_it(own):
    own.unlink()
    with pytest.raises(ApplyError, match=r"is not there: run `python -m deploy\.cluster up`"):
        target({})


def test_a_kubeconfig_that_is_not_there_is_said(own, tmp_path):
    with pytest.raises(ApplyError, match="correct KUBECONFIG"):
        target({"KUBECONFIG": str(tmp_path / "none"), "REGISTRY": "registry.example"})


def test_a_throw_away_neighbour_has_no_local_overlay(own, tmp_path):
    neighbour = Cluster(3, tmp_path).kubeconfig
    neighbour.parent.mkdir()
    neighbour.write_text("{}")
    with pytest.raises(ApplyError, match="unset SWITCHYARD_CLUSTER"):
        target({"SWITCHYARD_CLUSTER": "switchyard-3"})
