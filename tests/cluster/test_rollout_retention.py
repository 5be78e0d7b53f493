"""What grows with each release is pruned, by a real controller and on real objects."""

from __future__ import annotations

import time

import pytest
import yaml

from deploy import leftovers
from deploy.kubectl import Kubectl
from rollout import lane_apply, records
from rollout.cluster import Object, apps, core
from rollout.records import Record
from rollout.render import render
from rollout.retention import KEEP_PROMOTED, KEEP_S
from tests.client_pod import python_image
from tests.cluster import overlay_cluster
from tests.cluster.tiny_cluster import Tiny

DNS = "switchyard-dns"
HASHES = ("2t4k8m9hgb", "c6f5d7g8h9", "bbbbbbbbbb")
OLDEST = 100


def shelve(tiny: Tiny, count: int) -> None:
    """Releases 100 and later, all promoted long ago."""
    for number in range(OLDEST, OLDEST + count):
        at = time.time() - KEEP_S - 1000 + number
        commit = f"{number:040x}"
        records.save(tiny.api, tiny.names, Record(number, "green", at, commit, promoted_at=at))


def numbers(tiny: Tiny) -> list[int]:
    return [one.number for one in records.history(tiny.api, tiny.names)]


def test_old_records_go_and_history_and_undo_say_so(tiny: Tiny) -> None:
    """Release 1 serves and was promoted last, so that one less of the old ones stays."""
    shelve(tiny, KEEP_PROMOTED + 7)
    tiny.serve()
    last = OLDEST + 7
    tiny.until(lambda state: last in state.pruned)
    deadline = time.monotonic() + 30
    while last in numbers(tiny) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert numbers(tiny) == [1, *range(last + 1, OLDEST + KEEP_PROMOTED + 7)], tiny.log()
    assert f"up to release {last}, were pruned" in tiny.run("history")
    said = tiny.run("undo", "--to-revision", str(OLDEST), status=1)
    assert f"there is no record of release {OLDEST} any more" in said
    tiny.traffic_is_on("blue")


def test_more_records_than_one_answer_holds_are_all_listed(tiny: Tiny) -> None:
    shelve(tiny, records.A_PAGE + 2)
    pages = tiny.api.pages(core(tiny.names.control, "configmaps"), records.LABEL, 10)
    assert [len(page) for page in pages] == [10, 10, 3]
    assert len(numbers(tiny)) == records.A_PAGE + 3


def parts(tiny: Tiny, index: int) -> list[Object]:
    """A lane of one Deployment that reads a generated ConfigMap."""
    name = f"words-green-{HASHES[index]}"
    labels = {"app": "gateway", "lane": "green"}
    metadata = {"namespace": tiny.names.lanes, "labels": labels}
    volume = {"name": "words", "configMap": {"name": name}}
    container = {"name": "gateway", "image": python_image()}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    template["spec"]["volumes"] = [volume]
    return [
        {
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, **metadata}, "data": {"words": str(index)},
        },
        {
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "gateway-green", **metadata},
            "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": template},
        },
    ]  # fmt: skip


def test_a_lane_keeps_the_config_maps_of_its_release_and_of_the_one_before(tiny: Tiny) -> None:
    names = tiny.names
    for index in range(3):
        epoch = tiny.state().epoch
        lane_apply.apply(tiny.api, names.lanes, "green", parts(tiny, index), index, epoch)
    found = tiny.api.items(core(names.lanes, "configmaps"), "lane=green")
    left = {one["metadata"]["name"] for one in found if "words" in one["metadata"]["name"]}
    assert left == {f"words-green-{one}" for one in HASHES[1:]}
    template = (tiny.api.get(apps(names.lanes, "gateway-green")) or {})["spec"]["template"]
    assert HASHES[2] in yaml.safe_dump(template)


@pytest.fixture
def platform() -> list[Object]:
    return render(overlay_cluster.ROOT, "deploy/overlays/platform")


def test_an_older_corefile_goes_and_the_one_in_use_stays(platform: list[Object]) -> None:
    name = f"split-dns-{HASHES[0]}"
    before = {one["metadata"]["name"] for one in overlay_cluster.get("configmaps", DNS)}
    overlay_cluster.ask("create", "configmap", name, "-n", DNS, "--from-literal=Corefile=.")
    try:
        removed = leftovers.remove(Kubectl(overlay_cluster.KUBECONFIG), platform)
    finally:
        overlay_cluster.run("delete", "configmap", name, "-n", DNS, "--ignore-not-found")
    assert name in removed
    after = {one["metadata"]["name"] for one in overlay_cluster.get("configmaps", DNS)}
    deployment = overlay_cluster.get("deployments", DNS)[0]
    used = deployment["spec"]["template"]["spec"]["volumes"][0]["configMap"]["name"]
    assert used in after <= before
