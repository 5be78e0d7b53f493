"""Old pushes leave a running registry, with their space, and what stays can still be pulled."""

import os
import subprocess
from pathlib import Path

import pytest

from deploy.cluster import old_images
from deploy.cluster.old_images import KEPT, superfluous
from deploy.cluster.pause_image import archive
from tests.integration.images.registry import serving

PUSHES = KEPT + 3


def copy(source: str, target: str) -> None:
    insecure = ["--src-tls-verify=false", "--dest-tls-verify=false"]
    command = ["skopeo", "copy", "--insecure-policy", "--quiet", *insecure, source, target]
    subprocess.run(command, check=True, capture_output=True, timeout=60)


def push(address: str, folder: Path, number: int) -> None:
    file = folder / f"{number}.tar"
    file.write_bytes(archive(os.urandom(1_000_000)))
    copy(f"oci-archive:{file}", f"docker://{address}/switchyard/page:tag{number}")


def size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def test_old_pushes_go_with_their_space_and_the_rest_can_be_pulled(tmp_path: Path) -> None:
    data, config = tmp_path / "data", tmp_path / "registry.yml"
    with serving(tmp_path) as address:
        for number in range(PUSHES):
            push(address, tmp_path, number)
            link = next(data.rglob(f"tags/tag{number}/current/link"))
            os.utime(link, (number, number))
        before = size(data)
        pushed = old_images.read(data)
        assert [one.tag for one in sorted(pushed, key=lambda one: one.at)] == [
            f"tag{number}" for number in range(PUSHES)
        ]
        named = next(one.digest for one in pushed if one.tag == "tag0")
        old_images.forget(data, config, superfluous(pushed, {named}))
        assert size(data) < before * (KEPT + 1.5) / PUSHES
        for one in old_images.read(data):
            copy(f"docker://{address}/switchyard/page@{one.digest}", f"dir:{tmp_path / one.tag}")
        with pytest.raises(subprocess.CalledProcessError):
            copy(f"docker://{address}/switchyard/page:tag1", f"dir:{tmp_path / 'gone'}")
        # The registry goes on taking pushes, also of what it has just lost.
        copy(f"oci-archive:{tmp_path / '1.tar'}", f"docker://{address}/switchyard/page:tag1")
        copy(f"docker://{address}/switchyard/page:tag1", f"dir:{tmp_path / 'again'}")
