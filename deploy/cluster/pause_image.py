"""The pods' infrastructure image, written as an OCI archive and pushed to the registry."""

from __future__ import annotations

import hashlib
import io
import json
import os
import tarfile
import tempfile
import urllib.request
from pathlib import Path

from deploy.cluster.shell import run
from deploy.cluster.topology import Cluster

_MEDIA = "application/vnd.oci.image"


def _tar(files: dict[str, tuple[bytes, int]]) -> bytes:
    """A tar of `files` (path to contents and mode) that depends on nothing else."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, (data, mode) in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(data), mode
            archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def _descriptor(kind: str, data: bytes) -> dict[str, object]:
    digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
    return {"mediaType": f"{_MEDIA}.{kind}", "digest": digest, "size": len(data)}


def archive(binary: bytes) -> bytes:
    """An OCI image archive whose single layer is `/pause`; equal input gives equal bytes."""
    layer = _tar({"pause": (binary, 0o755)})
    layer_descriptor = _descriptor("layer.v1.tar", layer)
    config = json.dumps(
        {
            "architecture": "amd64",
            "os": "linux",
            "config": {"Entrypoint": ["/pause"], "User": "65535:65535"},
            "rootfs": {"type": "layers", "diff_ids": [layer_descriptor["digest"]]},
        }
    ).encode()
    config_descriptor = _descriptor("config.v1+json", config)
    manifest = json.dumps(
        {
            "schemaVersion": 2,
            "mediaType": f"{_MEDIA}.manifest.v1+json",
            "config": config_descriptor,
            "layers": [layer_descriptor],
        }
    ).encode()
    manifest_descriptor = _descriptor("manifest.v1+json", manifest)
    index = {"schemaVersion": 2, "manifests": [manifest_descriptor]}
    files = {
        "oci-layout": b'{"imageLayoutVersion": "1.0.0"}',
        "index.json": json.dumps(index).encode(),
    }
    for descriptor, data in (
        (layer_descriptor, layer),
        (config_descriptor, config),
        (manifest_descriptor, manifest),
    ):
        files[f"blobs/sha256/{str(descriptor['digest']).removeprefix('sha256:')}"] = data
    return _tar({name: (data, 0o644) for name, data in files.items()})


def reference(cluster: Cluster, binary: Path) -> str:
    """Image name for the pause `binary`; its tag is the build's key."""
    return f"{cluster.registry}/switchyard/pause:{binary.parent.name.removeprefix('pause-')}"


def push(cluster: Cluster, binary: Path) -> None:
    """Put the image into the cluster's registry, unless it is there."""
    target = reference(cluster, binary)
    if _present(cluster, target.rpartition(":")[2]):
        return
    # The registry is a neighbour: never ask a proxy for it.
    env = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
    with tempfile.NamedTemporaryFile(suffix=".tar") as file:
        file.write(archive(binary.read_bytes()))
        file.flush()
        run(["skopeo", "copy", "--insecure-policy", "--quiet", "--dest-tls-verify=false",
             f"oci-archive:{file.name}", f"docker://{target}"], env=env)  # fmt: skip


def _present(cluster: Cluster, tag: str) -> bool:
    url = f"http://{cluster.registry}/v2/switchyard/pause/manifests/{tag}"
    accept = {"Accept": f"{_MEDIA}.manifest.v1+json"}
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        request = urllib.request.Request(url, headers=accept, method="HEAD")
        with opener.open(request, timeout=5):
            return True
    except OSError:
        return False
