"""The Debian packages that the cluster, the image builds and `make run` stand on.

`python -m deploy.cluster.packages` installs what is missing.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from deploy.cluster.errors import ClusterError

PACKAGES = (
    "buildah",
    "ca-certificates",
    "conntrack",
    "containerd",
    "containernetworking-plugins",
    "docker-registry",
    "gcc",
    "git",
    "iproute2",
    "iptables",
    "libc6-dev",
    "libpython3.11",
    "libpython3.11-dev",
    "mmdebstrap",
    "openssh-client",
    "openssl",
    "python3-venv",
    "runc",
    "skopeo",
    "util-linux",
)


def missing(installed: str) -> list[str]:
    """PACKAGES that lines of `${Package} ${Status}` from dpkg-query do not show installed."""
    present = {
        line.split()[0] for line in installed.splitlines() if line.endswith("install ok installed")
    }
    return [name for name in PACKAGES if name not in present]


def install_missing() -> None:
    """Install what is missing with apt-get, showing its output."""
    query = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Package} ${Status}\n", *PACKAGES],
        capture_output=True,
        text=True,
    )
    names = missing(query.stdout)
    if not names:
        return
    print(f"\ninstalling {' '.join(names)}", file=sys.stderr, flush=True)
    with _services_stay_stopped():
        for argv in (
            ["apt-get", "update", "-q"],
            ["apt-get", "install", "-q", "-y", "--no-install-recommends", *names],
        ):
            env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
            if subprocess.run(argv, env=env, stdout=sys.stderr).returncode:
                raise ClusterError(f"`{' '.join(argv)}` failed: its last lines say why")


@contextmanager
def _services_stay_stopped() -> Iterator[None]:
    """Debian's own containerd and registry services must not start beside the cluster's."""
    policy = Path("/usr/sbin/policy-rc.d")
    if policy.exists():
        yield
        return
    policy.write_text("#!/bin/sh\nexit 101\n")
    policy.chmod(0o755)
    try:
        yield
    finally:
        policy.unlink(missing_ok=True)


if __name__ == "__main__":
    try:
        install_missing()
    except ClusterError as error:
        sys.exit(f"packages: {error}")
