"""The node's agent on the cluster: it finds the pods and counts their functions exactly."""

from __future__ import annotations

import json
import time
import urllib.request
import uuid
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.cluster.overlay_cluster import ROOT, ask, get
from tests.demo.clients import tokens

NAMESPACE = "switchyard-tracing"
OVERLAY = str(ROOT / "deploy/overlays/tracing")
REQUESTS = 13
ENTRIES = """
import json
for line in open("/var/lib/tracing/recording.jsonl"):
    if line.endswith("\\n"):
        event = json.loads(line)
        if event.get("kind") == "entry" and event["function"] == "apps.gateway.chat.Chat.__call__":
            print(event["request"])
"""
SCENARIOS = """
from urllib.request import urlopen
print(urlopen("http://127.0.0.1:9102/scenarios", timeout=5).read().decode())
"""


ASK_AGENTS = """
import time
from rollout import access
from rollout.cluster import Api
from rollout.discardsource import DiscardSource
from rollout.names import Names
source = DiscardSource(Api(access.find()), Names())
source.poll(time.time())
print(source.said or "every agent answers")
"""


@pytest.fixture
def agent() -> Iterator[None]:
    """The overlay, applied and Ready; deleted afterwards."""
    ask("wait", "--for=delete", f"namespace/{NAMESPACE}", "--timeout=100s")  # of a run before
    ask("apply", "-k", OVERLAY)
    try:
        ask("-n", NAMESPACE, "rollout", "status", "daemonset/tracing", "--timeout=100s")
        yield
    finally:
        ask("delete", "-k", OVERLAY, "--wait=false")


def in_agent(program: str) -> str:
    return ask("-n", NAMESPACE, "exec", "daemonset/tracing", "--", "python3", "-c", program)


def asked_by_the_controller() -> str:
    """What the controller's analysis says of the agents, from where it runs and with its rights."""
    words = ["exec", "deployment/rollout", "--", "python3", "-c", ASK_AGENTS]
    return ask("-n", "switchyard-rollout", *words).strip()


def entries() -> Counter[str]:
    """How often the chat endpoint was entered, by request id."""
    return Counter(in_agent(ENTRIES).split())


def requests_of(intent: str) -> int:
    """The requests of a scenario that the agent read in the pods' rings."""
    rows = json.loads(in_agent(SCENARIOS))["scenarios"]
    return sum(row["requests"] for row in rows if row["intent"] == intent)


def chat(address: str, token: str) -> str:
    """Ask the assistant something; the request's id."""
    body = {"query": "hello", "session": uuid.uuid4().hex, "message_id": uuid.uuid4().hex}
    headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
    request = urllib.request.Request(
        f"http://{address}/v1/chat", json.dumps(body).encode(), headers
    )
    with urllib.request.urlopen(request, timeout=20) as answer:
        return str(answer.headers["x-request-id"])


def test_each_request_enters_the_chat_endpoint_once(agent: None) -> None:
    (stable,) = get("services", "switchyard", "--field-selector=metadata.name=assistant-stable")
    address, token = stable["spec"]["clusterIP"], tokens()["c-1001"]
    deadline = time.monotonic() + 60
    while chat(address, token) not in entries():
        assert time.monotonic() < deadline, "the agent never attached to the gateway"
        time.sleep(1)
    asked = [chat(address, token) for _ in range(REQUESTS)]
    deadline = time.monotonic() + 30
    while not set(asked) <= set(found := entries()):
        assert time.monotonic() < deadline, f"{found} lacks some of {asked}"
        time.sleep(1)
    assert [found[one] for one in asked] == [1] * REQUESTS
    deadline = time.monotonic() + 60
    while requests_of("other") < REQUESTS:  # the rings are copied now and then
        assert time.monotonic() < deadline, in_agent(SCENARIOS)
        time.sleep(1)


def test_a_releases_analysis_may_ask_every_agent(agent: None) -> None:
    deadline = time.monotonic() + 30  # network policies of a new namespace take a moment
    while (said := asked_by_the_controller()) != "every agent answers":
        assert time.monotonic() < deadline, said
        time.sleep(1)
