"""A Debian of our images in namespaces of its own, with a copy of our code that only it sees."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from images import cache, debian
from images.layers.base import debian_layer
from observability.native import MODULE

ROOT = Path(__file__).parents[3]
BASES = {"3.11": "base-bookworm", "3.13": "base-trixie"}
LIBRARY = f"/app/{MODULE.relative_to(ROOT)}"

# Nothing of the container is mounted for anybody else, and all of it goes with its first process.
_BEGIN = """\
set -e
mount -t proc proc "$1/proc"
mount -t tmpfs tmpfs "$1/app"
cp -r "$2/observability" "$1/app/"
mkdir -p "$1/app/tests/unit" "$1/app/tests/integration"
cp -r "$2/tests/unit/probes" "$1/app/tests/unit/"
cp -r "$2/tests/integration/probes" "$1/app/tests/integration/"
cd "$1/app"
shift 2
exec "$@"
"""


def root_of(python: str) -> Path:
    """The unpacked base of the images with this Python; made once, then kept."""
    layer = debian_layer(ROOT, BASES[python])
    kept = cache.folder() / f"root-{python}"
    mark = kept / "made-of"
    if mark.is_file() and mark.read_text() == layer.key:
        return kept
    shutil.rmtree(kept, ignore_errors=True)
    debian.install_tools(print)
    with tempfile.TemporaryDirectory(dir=cache.folder()) as folder:
        context = Path(folder)
        assert layer.prepare
        layer.prepare(context)
        fresh = context / "root"
        fresh.mkdir()
        subprocess.run(["tar", "-xf", context / "base.tar", "-C", fresh], check=True)
        for name in ("proc", "app", "dev"):
            (fresh / name).mkdir(exist_ok=True)
        (fresh / mark.name).write_text(layer.key)
        fresh.replace(kept)
    return kept


@contextmanager
def running(python: str, module: str) -> Iterator[tuple["subprocess.Popen[str]", int]]:
    """`python -m module` in a container: the process that holds it, and its pid out here."""
    root = root_of(python)
    inside = ["chroot", str(root), "env", "-C", "/app", "python3", "-B", "-m", module]
    holder = subprocess.Popen(
        ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", _BEGIN, "sh",
         str(root), str(ROOT), *inside],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert holder.stdout
        assert holder.stdout.readline() == "ready\n"
        yield holder, _child(holder.pid)
    finally:
        holder.kill()
        holder.wait()


def _child(pid: int) -> int:
    end = time.monotonic() + 10
    while time.monotonic() < end:
        if children := Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            assert os.readlink(f"/proc/{pid}/ns/pid") != os.readlink(f"/proc/{children[0]}/ns/pid")
            return int(children[0])
        time.sleep(0.01)
    raise AssertionError("the container has no process")
