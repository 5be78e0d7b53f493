"""The edge to buildah: a store of our own, no daemon, no network, no times."""

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from images import cache
from images.command import run

_BUILD_S = 900.0
_PARENT = "localhost/switchyard/parent"


def _buildah(*words: str | Path) -> list[str | Path]:
    store = cache.folder() / "containers"
    # The run root is kept short and volatile: it holds mounts and locks only.
    volatile = Path("/run/switchyard-images")
    return [
        "buildah",
        f"--root={store}",
        f"--runroot={volatile}",
        "--storage-driver=overlay",
        *words,
    ]


def exists(image: str) -> bool:
    """Whether the local store has the image."""
    return bool(_images(image))


def _images(image: str) -> list[dict[str, Any]]:
    listed = run(_buildah("images", "--json", "--filter", f"reference={image}"), timeout_s=60)
    found: list[dict[str, Any]] = json.loads(listed or "[]") or []
    return found


def build(image: str, containerfile: str, context: Path, parent: str) -> None:
    """Build `image` in one layer over `parent` ("" is none); times are 0, nothing is fetched."""
    if parent:
        # An image's history names its parent: always the same name, or the digest would change
        # with keys that change nothing else.
        run(_buildah("tag", parent, _PARENT), timeout_s=60)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "Containerfile")
        file.write_text(containerfile)
        command = _buildah(
            "build",
            "--isolation=chroot",
            "--pull=never",
            "--timestamp=0",
            "--identity-label=false",
            "--layers=false",
            "--no-hosts",
            f"--tag={image}",
            f"--file={file}",
            *([f"--build-arg=PARENT={_PARENT}"] if parent else []),
            context,
        )
        run(command, timeout_s=_BUILD_S, env=cache.scratch())


def push(image: str, target: str, *, tls: bool) -> str:
    """Push to `registry/name:tag`; the digest of the manifest that the registry keeps."""
    with tempfile.TemporaryDirectory() as folder:
        digest = Path(folder, "digest")
        run(
            _buildah(
                "push",
                f"--tls-verify={str(tls).lower()}",
                "--quiet",
                f"--digestfile={digest}",
                image,
                f"docker://{target}",
            ),
            timeout_s=_BUILD_S,
        )
        return digest.read_text().strip()


def settings(image: str) -> dict[str, Any]:
    """The `config` of the image's OCI configuration: User, Env, Entrypoint, …"""
    inspected = json.loads(run(_buildah("inspect", "--type=image", image), timeout_s=60))
    found: dict[str, Any] = inspected["OCIv1"]["config"]
    return found


@contextmanager
def mounted(image: str) -> Iterator[Path]:
    """The image's files, in a working container that is removed afterwards."""
    container = run(_buildah("from", "--pull-never", image), timeout_s=120).strip()
    try:
        yield Path(run(_buildah("mount", container), timeout_s=60).strip())
    finally:
        run(_buildah("rm", container), timeout_s=60)
