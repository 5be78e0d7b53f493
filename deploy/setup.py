"""What an installation has of its own and git does not: Secrets, settings, a disk."""

from __future__ import annotations

import os
from pathlib import Path

import yaml

from deploy import secrets
from deploy.kubectl import Kubectl
from rollout.render import Manifest

SETTINGS = Path(__file__).parent / "settings"
MANAGER = "platform"
POSTGRES_UID = 10001


def make_secrets(kubectl: Kubectl) -> dict[str, str]:
    """Write what is missing in the Secrets; returns the token file of the database."""
    existing = {}
    for key in secrets.ALL:
        found = kubectl.get("secret", key[1], key[0])
        existing[key] = secrets.values_of(found) if found else {}
    wished = secrets.wanted(existing, secrets.random_value)
    changed = {key: values for key, values in wished.items() if values != existing[key]}
    if changed:
        kubectl.apply(secrets.manifests(changed), MANAGER)
    return wished[secrets.TOKENS]


def make_settings(kubectl: Kubectl, environment: str) -> None:
    """Make the admin's ConfigMaps where they are absent; what an admin wrote is kept."""
    for name in (environment, "trust"):
        settings: Manifest = yaml.safe_load((SETTINGS / f"{name}.yaml").read_text())
        metadata = settings["metadata"]
        if kubectl.get("configmap", metadata["name"], metadata["namespace"]) is None:
            kubectl.apply([settings], MANAGER)


def make_volume(folder: Path) -> None:
    """The folder of this machine that holds the local cluster's database."""
    if not folder.is_dir():
        folder.mkdir(parents=True, mode=0o755)
        folder.chmod(0o750)
        os.chown(folder, POSTGRES_UID, POSTGRES_UID)
