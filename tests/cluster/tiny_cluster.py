"""Namespaces, a signed repository and a controller process of a test's own."""

from __future__ import annotations

import base64
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import yaml

from rollout import access, journal, sequences
from rollout.cluster import Api, apps, core
from rollout.errors import RolloutError
from rollout.names import WANTED_REPLICAS, Names
from rollout.slots import WEIGHTS
from rollout.state import State
from tests.client_pod import python_image
from tests.cluster.overlay_cluster import KUBECONFIG

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
PLAN: dict[str, Any] = {
    "steps": [20, 50], "soak_s": 1, "step_max_s": 30, "min_samples": 10, "undo_window_s": 60,
    "drain_s": 2, "start_max_s": 60, "rehearsal_runs": 1,
    "limits": {"first_ms": 500, "total_ms": 500},
}  # fmt: skip
SCENARIO = """\
name: greeting.en
language: en
customer: s-en
runs: 20
turns:
  - query: hello
    expect: {intent: other, reply_matches: ["ticket"]}
"""


def lane_parts(names: Names, lane: str, settings: dict[str, str], size: int) -> list[Any]:
    """ConfigMap, Deployment and Service of the tiny app on one lane."""
    labels = {"app": "gateway", "lane": lane}
    environment = [{"name": name, "value": value} for name, value in settings.items()]
    container = {
        "name": "gateway",
        "image": python_image(),
        "command": ["python3", "/tiny/app.py"],
        "env": [{"name": "LANE", "value": lane}, *environment],
        "readinessProbe": {"httpGet": {"path": "/readyz", "port": 8081}, "periodSeconds": 1},
        "resources": {"requests": {"cpu": "5m", "memory": "24Mi"}},
        "volumeMounts": [{"name": "code", "mountPath": "/tiny"}],
    }
    code = {"name": "code", "configMap": {"name": f"tiny-{lane}"}}
    pod = {
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": 1,
        "containers": [container],
        "volumes": [code],
    }
    namespace = {"namespace": names.lanes, "labels": labels}
    return [
        {
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": f"tiny-{lane}", **namespace},
            "data": {"app.py": (HERE / "tiny/app.py").read_text()},
        },
        {
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {
                "name": f"gateway-{lane}", **namespace,
                "annotations": {WANTED_REPLICAS: str(size)},
            },
            "spec": {
                "selector": {"matchLabels": labels},
                "strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "100%"}},
                "template": {"metadata": {"labels": labels}, "spec": pod},
            },
        },
        {
            "apiVersion": "v1", "kind": "Service",
            "metadata": {"name": f"lane-{lane}", **namespace},
            "spec": {"selector": labels, "ports": [{"port": 80, "targetPort": 8080}]},
        },
    ]  # fmt: skip


@dataclass
class Forge:
    """A work tree whose commits are signed, and the bare repository it pushes to."""

    folder: Path
    names: Names
    address: str = "ann@example.com"

    def __post_init__(self) -> None:
        self.tree, self.bare = self.folder / "tree", self.folder / "repo.git"
        self.key = self.folder / "key"
        subprocess.run(
            [
                "ssh-keygen",
                "-q",
                "-t",
                "ed25519",
                "-N",
                "",
                "-C",
                self.address,
                "-f",
                str(self.key),
            ],
            check=True,
        )
        subprocess.run(["git", "init", "-q", "-b", "main", str(self.tree)], check=True)
        subprocess.run(["git", "init", "-q", "-b", "main", "--bare", str(self.bare)], check=True)
        scenarios = self.tree / "rollout/scenarios"
        scenarios.mkdir(parents=True)
        (scenarios / "greeting.en.yaml").write_text(SCENARIO)
        images = self.tree / "deploy/components/images"
        images.mkdir(parents=True)
        kind = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"
        (images / "kustomization.yaml").write_text(kind)

    @property
    def signers(self) -> str:
        return f'{self.address} namespaces="git" {Path(f"{self.key}.pub").read_text()}'

    def write(self, **settings: str) -> None:
        """Write every overlay with these environment variables of the app."""
        for kind, size in (("canary", 1), ("prod", 2)):
            for lane in ("blue", "green"):
                folder = self.tree / f"deploy/overlays/{kind}/{lane}"
                folder.mkdir(parents=True, exist_ok=True)
                parts = lane_parts(self.names, lane, settings, size)
                (folder / "lane.yaml").write_text(yaml.safe_dump_all(parts))
                (folder / "kustomization.yaml").write_text("resources: [lane.yaml]\n")

    def commit(self, subject: str, *, sign: bool = True, **settings: str) -> str:
        """Commit and push a release; its sha."""
        self.write(**settings)
        self.git("add", "-A")
        flag = "-S" if sign else "--no-gpg-sign"
        self.git("commit", "-q", "--allow-empty", flag, "-m", subject)
        self.git("push", "-q", str(self.bare), "HEAD:main", "--force")
        return self.git("rev-parse", "HEAD")

    def git(self, *words: str) -> str:
        identity = {
            "GIT_AUTHOR_NAME": "Ann", "GIT_AUTHOR_EMAIL": self.address,
            "GIT_COMMITTER_NAME": "Ann", "GIT_COMMITTER_EMAIL": self.address,
            "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1",
        }  # fmt: skip
        settings = ["-c", "gpg.format=ssh", "-c", f"user.signingkey={self.key}"]
        done = subprocess.run(
            ["git", "-C", str(self.tree), *settings, *words],
            env={**os.environ, **identity}, capture_output=True, text=True, check=True,
        )  # fmt: skip
        return done.stdout.strip()


@dataclass
class Tiny:
    """A rollout in namespaces of its own, with release 1 serving on blue."""

    api: Api
    names: Names
    forge: Forge
    folder: Path
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "KUBECONFIG": KUBECONFIG,
            "ROLLOUT_NAMES": json.dumps(asdict(self.names)),
            "PYTHONPATH": str(ROOT),
        }

    def run(self, *words: str, status: int = 0) -> str:
        """One command of the terminal; what it printed."""
        done = subprocess.run(
            [sys.executable, "-m", "rollout", *words],
            env=self.environment, cwd=self.forge.tree, capture_output=True, text=True,
            timeout=150, check=False,
        )  # fmt: skip
        said = done.stdout + done.stderr
        assert done.returncode == status, f"{words}: {done.returncode}: {said}\n{self.log()}"
        assert "Traceback" not in said, said
        return said

    def serve(self, pod: str = "pod-a") -> subprocess.Popen[bytes]:
        """Start a controller process, as in a pod of this name."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        log = (self.folder / "controller.log").open("ab")
        process = subprocess.Popen(
            [
                sys.executable, str(HERE / "tiny/serve.py"), self.environment["ROLLOUT_NAMES"],
                str(self.folder / pod), str(self.port),
            ],
            env={**self.environment, "HOSTNAME": pod}, stdout=log, stderr=log,
        )  # fmt: skip
        self.processes.append(process)
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline and process.poll() is None:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=2):
                    return process
            except OSError:
                time.sleep(0.05)
        raise AssertionError(f"the controller is not ready\n{self.log()}")

    def log(self, lines: int = 30) -> str:
        path = self.folder / "controller.log"
        return "\n".join(path.read_text().splitlines()[-lines:]) if path.exists() else ""

    def state(self) -> State:
        return journal.read(self.api, self.names)[0]

    def until(self, what: Callable[[State], bool], seconds: float = 60) -> State:
        """Poll the journal until it is so; fails with the controller's log."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                state = self.state()
            except RolloutError:
                time.sleep(0.1)
                continue
            if what(state):
                return state
            time.sleep(0.05)
        raise AssertionError(f"never so; the journal: {state}\n{self.log()}")

    def traffic_is_on(self, lane: str) -> None:
        """Every slot names stable, and every role selects the lane."""
        found = sequences.read(self.api, self.names)
        roles, slots = found.view(self.names)
        assert {slot.service for slot in slots.values()} == {self.names.stable}
        assert {role.lane for role in roles.values()} == {lane}, self.log()

    def address(self, service: str) -> str:
        found = self.api.get(core(self.names.lanes, "services", service))
        assert found is not None
        return str(found["spec"]["clusterIP"])

    def replicas(self, lane: str) -> int:
        found = self.api.get(apps(self.names.lanes, f"gateway-{lane}"))
        return int(found["spec"]["replicas"]) if found else 0


@dataclass
class Clients:
    """Requests at a steady rate: some look a slot up each time, one never looks up again."""

    tiny: Tiny
    rate: float = 40.0
    seen: list[tuple[float, str, str]] = field(default_factory=list)
    """Monotonic seconds at the answer, kind of client, lane or error."""

    def __post_init__(self) -> None:
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Clients:
        fixed = self.tiny.address(self.tiny.names.stable)
        for kind, rate in (("lookup", self.rate), ("cached", self.rate / 4)):
            thread = threading.Thread(target=self._run, args=(kind, rate, fixed), daemon=True)
            thread.start()
            self._threads.append(thread)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(10)

    def errors(self) -> list[str]:
        return [what for _, _, what in self.seen if what not in ("blue", "green")]

    def lanes(self, kind: str, since: float = 0.0, until: float = 1e18) -> Counter[str]:
        return Counter(w for at, k, w in self.seen if k == kind and since <= at < until)

    def _run(self, kind: str, rate: float, fixed: str) -> None:
        api = Api(access.find())
        addresses: dict[str, str] = {}
        slots: dict[str, str] = {}
        looked = 0.0
        following = time.monotonic()
        while not self._stop.is_set():
            if kind == "lookup" and time.monotonic() - looked > 0.1:
                try:
                    found = sequences.read(api, self.tiny.names)
                    slots = {n: s.service for n, s in found.view(self.tiny.names)[1].items()}
                    addresses = {n: b["spec"]["clusterIP"] for n, b in found.roles.items()}
                    looked = time.monotonic()
                except RolloutError:
                    pass  # a client goes on with what it knows
            target = fixed
            if kind == "lookup" and slots:
                slot = random.choices(range(len(WEIGHTS)), WEIGHTS)[0]
                target = addresses[slots[f"s{slot}"]]
            self.seen.append((time.monotonic(), kind, ask(target)))
            following += 1 / rate
            self._stop.wait(max(0.0, following - time.monotonic()))


def await_answer(address: str) -> None:
    """Until the node's proxy knows a new Service: a connection begun before never succeeds."""
    deadline = time.monotonic() + 30
    while (said := ask(address, timeout=0.5)) not in ("blue", "green"):
        assert time.monotonic() < deadline, f"{address}: {said}"


def ask(address: str, timeout: float = 10) -> str:
    """The lane that answers a new connection, or the error."""
    try:
        with urllib.request.urlopen(f"http://{address}/", timeout=timeout) as answer:
            return str(answer.headers["X-Switchyard-Lane"])
    except OSError as error:
        return f"{type(error).__name__}: {error}"


def tell(tiny: Tiny, commit: str) -> str:
    """Push notification for a commit, as the hook sends it; what the controller says."""
    body = json.dumps({"ref": "refs/heads/main", "after": commit}).encode()
    headers = {"Authorization": "Bearer a-token-of-a-test"}
    request = urllib.request.Request(f"http://127.0.0.1:{tiny.port}/push", body, headers)
    with urllib.request.urlopen(request, timeout=10) as answer:
        return str(json.load(answer)["said"])


@contextmanager
def tiny_rollout(folder: Path) -> Iterator[Tiny]:
    """Namespaces, release 1 on blue, settings and trust; everything is gone afterwards."""
    os.environ["KUBECONFIG"] = KUBECONFIG
    prefix = f"tiny-{random.randrange(16**6):06x}"
    names = Names(lanes=prefix, slots=f"{prefix}-slots", control=f"{prefix}-rollout", staging="")
    api = Api(access.find())
    forge = Forge(folder, names)
    tiny = Tiny(api, names, forge, folder)
    namespaces = (names.lanes, names.slots, names.control)
    try:
        for name in namespaces:
            body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            api.create("/api/v1/namespaces", body)
        forge.write(RELEASE="1")
        prepare(tiny)
        tiny.run("init", "--lane", "blue")
        await_answer(tiny.address(names.stable))
        yield tiny
    finally:
        for process in tiny.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
                process.wait(10)
        for name in namespaces:
            api.delete(f"/api/v1/namespaces/{name}")
        shutil.rmtree(folder / "pod-a", ignore_errors=True)


def prepare(tiny: Tiny) -> None:
    """What `deploy.apply` does for the assistant: settings, secrets, the first lane."""
    api, names = tiny.api, tiny.names
    token = base64.b64encode(b"a-token-of-a-test").decode()
    for kind, name, data in (
        ("ConfigMap", names.settings, {
            "plan.yaml": yaml.safe_dump(PLAN), "git_url": str(tiny.forge.bare), "branch": "main",
        }),
        ("ConfigMap", names.trust, {"allowed_signers": tiny.forge.signers}),
        ("Secret", "webhook", {"token": token}),
        ("Secret", "scenario-tokens", {"s-en": token}),
    ):  # fmt: skip
        body = {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, "data": data}
        api.create(core(names.control, f"{kind.lower()}s"), body)
    first = lane_parts(names, "blue", {"RELEASE": "1"}, 2)
    for part in first:
        where = apps(names.lanes) if part["kind"] == "Deployment" else None
        api.create(where or core(names.lanes, f"{part['kind'].lower()}s"), part)
    path = apps(names.lanes, "gateway-blue")
    api.patch(path, [{"op": "add", "path": "/spec/replicas", "value": 2}])
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        found = api.get(path) or {}
        if found.get("status", {}).get("readyReplicas") == 2:
            return
        time.sleep(0.2)
    raise AssertionError("the tiny app did not become Ready")
