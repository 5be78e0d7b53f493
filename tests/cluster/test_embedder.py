"""The embeddings for others on the cluster: applied, reached by whom the admin names, gone."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterator

import pytest

from tests.cluster.overlay_cluster import ROOT, ask, client, run

NAMESPACE = "switchyard-embedder"
OVERLAY = str(ROOT / "deploy/overlays/embedder")
ASK = """
import json, sys, urllib.request
body = json.dumps({"input": ["资产总计", "word " * 600], "input_type": "passage"}).encode()
request = urllib.request.Request(
    f"http://{sys.argv[1]}/v1/embeddings", body, {"content-type": "application/json"}
)
with urllib.request.urlopen(request, timeout=5) as reply:
    print(reply.read().decode())
"""


@pytest.fixture
def address() -> Iterator[str]:
    """Of the Service; the overlay is applied and Ready, and deleted afterwards."""
    ask("wait", "--for=delete", f"namespace/{NAMESPACE}", "--timeout=100s")  # of a run before
    ask("apply", "-k", OVERLAY)
    try:
        ask("-n", NAMESPACE, "rollout", "status", "deployment/embedder", "--timeout=100s")
        yield ask("-n", NAMESPACE, "get", "service", "embedder", "-o", "jsonpath={.spec.clusterIP}")
    finally:
        ask("delete", "-k", OVERLAY, "--wait=false")


@pytest.fixture
def space() -> Iterator[str]:
    name = f"embedder-test-{secrets.token_hex(3)}"
    ask("create", "namespace", name)
    try:
        yield name
    finally:
        run("delete", "namespace", name, "--wait=false")


def test_a_namespace_with_the_label_gets_vectors_and_another_gets_nothing(
    address: str, space: str
) -> None:
    with client(space) as pod:
        asking = ("-n", space, "exec", pod, "--", "python3", "-c", ASK, address)
        assert run(*asking).returncode != 0
        ask("label", "namespace", space, "switchyard/embedder=true")
        deadline = time.monotonic() + 60
        while (done := run(*asking)).returncode:  # until the enforcer has seen the label
            assert time.monotonic() < deadline, done.stderr
            time.sleep(1)
    data = json.loads(done.stdout)["data"]
    assert [len(one["embedding"]) for one in data] == [384, 384]
    assert [one["cut"] > 0 for one in data] == [False, True]
    for one in data:
        assert sum(number * number for number in one["embedding"]) == pytest.approx(1, abs=1e-4)
