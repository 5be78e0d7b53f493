"""The cluster's own binaries: what each is built from, and the cache of the results."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from deploy.cluster import files
from deploy.cluster.errors import ClusterError

SOURCES = Path(__file__).parent
GO_TOOLCHAIN = "go1.26.8"
KUBERNETES_VERSION = "v1.34.4"

KEPT = 3
"""Builds of each program that stay in the cache."""
_BUILD_SECONDS = 3600
_VERSION_VARIABLE = "k8s.io/component-base/version"


@dataclass(frozen=True)
class Build:
    """One binary. `package` is the Go package to build, or empty for a C program.

    `linker` are the linker's flags; `files` what decides the result, relative to the folder.
    """

    name: str
    package: str
    files: tuple[str, ...] = ("go.mod", "go.sum")
    linker: str = "-s -w"

    @property
    def folder(self) -> Path:
        return SOURCES / self.name

    def argv(self, output: Path) -> list[str]:
        """Command that writes the binary to `output`, to be run in `folder`."""
        if not self.package:
            sources = [name for name in self.files if name.endswith(".c")]
            return ["gcc", "-Os", "-static", "-s", "-Wall", "-Werror", "-o", str(output), *sources]
        # Two compilers at once, and politely: others work on the machine.
        return ["nice", "go", "build", "-p", "2", "-mod=readonly", "-buildvcs=false", "-trimpath",
                "-ldflags", self.linker, "-o", str(output), self.package]  # fmt: skip


BUILDS: Mapping[str, Build] = {
    build.name: build
    for build in (
        Build("pause", "", files=("pause.c",)),
        Build("etcd", "go.etcd.io/etcd/server/v3"),
        Build("coredns", "github.com/coredns/coredns"),
        Build("network-policies", ".", files=("go.mod", "go.sum", "main.go")),
        Build(
            "kube",
            ".",
            files=("go.mod", "go.sum", "main.go"),
            linker="-s -w"
            f" -X {_VERSION_VARIABLE}.gitVersion={KUBERNETES_VERSION}"
            f" -X {_VERSION_VARIABLE}.gitMajor=1 -X {_VERSION_VARIABLE}.gitMinor=34",
        ),
    )
}


def key(build: Build, contents: Mapping[str, bytes]) -> str:
    """16 hex digits that change with the command or with any of `contents` (by file name)."""
    digest = hashlib.sha256()
    for part in (GO_TOOLCHAIN, *build.argv(Path(build.name))):
        digest.update(part.encode() + b"\0")
    for name in sorted(contents):
        digest.update(f"{name}\0{len(contents[name])}\0".encode() + contents[name])
    return digest.hexdigest()[:16]


def cached(build: Build, cache: Path) -> Path:
    """Where the binary of `build` lies once it is built."""
    contents = {name: (build.folder / name).read_bytes() for name in build.files}
    return cache / "bin" / f"{build.name}-{key(build, contents)}" / build.name


def ensure(name: str, cache: Path) -> Path:
    """Path of the binary `name`, built now if the cache lacks it.

    Raises ClusterError for an unknown name, or naming the build's log.
    """
    if name not in BUILDS:
        raise ClusterError(f"build {name}: unknown; it is one of {', '.join(sorted(BUILDS))}")
    build = BUILDS[name]
    result = cached(build, cache)
    if not result.exists():
        with files.alone(cache / "build.lock"):
            if not result.exists():
                _build(build, result)
                _forget(name, result.parents[1])
    os.utime(result.parent)
    return result


def _forget(name: str, folder: Path) -> None:
    """Delete all but the builds of a program that were wanted last: other trees may run theirs."""
    made = folder.glob(f"{name}-" + "[0-9a-f]" * 16)
    for old in sorted(made, key=lambda build: build.stat().st_mtime, reverse=True)[KEPT:]:
        shutil.rmtree(old)


def _build(build: Build, result: Path) -> None:
    compiler = "go" if build.package else "gcc"
    if shutil.which(compiler) is None:
        raise ClusterError(
            f"build {build.name}: {compiler} is not installed; run it as `make up` does, with"
            " .venv/bin first in PATH and the Debian packages of deploy/cluster/packages.py"
        )
    result.parent.mkdir(parents=True, exist_ok=True)
    output = Path(tempfile.mkdtemp(dir=result.parent)) / build.name
    log = result.parent / "build.log"
    env = {**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": GO_TOOLCHAIN, "GOFLAGS": ""}
    try:
        with log.open("w") as file:
            done = subprocess.run(
                build.argv(output),
                cwd=build.folder,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                timeout=_BUILD_SECONDS,
            )
        if done.returncode:
            raise ClusterError(f"build {build.name} failed; read {log}")
        output.replace(result)
    except subprocess.TimeoutExpired as error:
        raise ClusterError(
            f"build {build.name}: no end after {_BUILD_SECONDS} s; read {log}"
        ) from error
    finally:
        shutil.rmtree(output.parent, ignore_errors=True)
