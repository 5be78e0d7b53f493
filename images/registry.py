"""The edge to the registry."""

import ipaddress
import json
import os
from dataclasses import dataclass
from http import HTTPStatus

import urllib3

from images.command import run
from images.errors import ImageError
from images.lock import PREFIX

DEFAULT = "10.203.0.2:5000"
_REACH_S = 10


def chosen(option: str | None) -> str:
    """The registry of `--registry`, else of REGISTRY, else the local cluster's."""
    registry = option or os.environ.get("REGISTRY") or DEFAULT
    if "://" in registry or registry.endswith("/"):
        raise ImageError(f"registry {registry!r}: give HOST[:PORT][/PATH], without scheme or slash")
    return registry


def uses_tls(registry: str) -> bool:
    """Plain HTTP is spoken only to an address of this machine or of a private network."""
    host = registry.split("/", 1)[0].rsplit(":", 1)[0].strip("[]")
    if host == "localhost":
        return False
    try:
        return not ipaddress.ip_address(host).is_private
    except ValueError:
        return True


@dataclass(frozen=True)
class Stored:
    """An image in the registry."""

    digest: str
    packed: int
    """Bytes of its layers as they travel."""


def target(registry: str, name: str, tag: str) -> str:
    """`registry/switchyard/name:tag`"""
    return f"{registry}/{PREFIX}{name}:{tag}"


def find(registry: str, name: str, digest: str) -> Stored | None:
    """The image with that digest, or none when the registry has not got it (or cannot be asked)."""
    try:
        raw = run(
            [
                "skopeo",
                "inspect",
                "--raw",
                f"--tls-verify={str(uses_tls(registry)).lower()}",
                f"docker://{registry}/{PREFIX}{name}@{digest}",
            ],
            timeout_s=60,
        )
    except ImageError:
        return None
    return Stored(digest, sum(layer["size"] for layer in json.loads(raw)["layers"]))


def reach(registry: str) -> None:
    """Fail in one line when nobody answers as a registry; a demand for credentials is an answer."""
    host = registry.split("/", 1)[0]
    url = f"{'https' if uses_tls(registry) else 'http'}://{host}/v2/"
    try:
        answer = urllib3.request("GET", url, timeout=_REACH_S, retries=False)
    except urllib3.exceptions.HTTPError as bad:
        remedy = "start the local cluster (`make up`) or name another by --registry or REGISTRY"
        raise ImageError(f"no registry at {url} ({bad}): {remedy}") from bad
    if answer.status not in (HTTPStatus.OK, HTTPStatus.UNAUTHORIZED):
        raise ImageError(f"{url} answers {answer.status}: is {host} a registry?")
