"""FAISS and Qdrant's engine to compare with, in a virtual environment of their own.

`python -m tests.bench.peers.vectors` makes it once for each version and prints the interpreter
that can import them. Nothing of the product depends on it.
"""

import fcntl
import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

from deploy.cluster.topology import cache_folder
from tests.bench.progress import say

PACKAGES = Path(__file__).with_name("vectors.txt")


def interpreter() -> Path:
    """A Python that can import `faiss` and `qdrant_edge`, made now if the cache lacks it.

    Errors: SystemExit, after what pip said.
    """
    digest = hashlib.sha256(PACKAGES.read_bytes() + str(sys.version_info[:2]).encode())
    place = cache_folder() / "peers" / f"vectors-{digest.hexdigest()[:16]}"
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / "ready").exists():
            shutil.rmtree(place, ignore_errors=True)
            say("installing FAISS and Qdrant's engine")
            subprocess.run([sys.executable, "-m", "venv", place], check=True)
            pip = [place / "bin" / "pip", "install", "--quiet", "--no-deps", "--require-hashes"]
            if subprocess.run([*pip, "-r", PACKAGES]).returncode:
                raise SystemExit("installing the peers failed")
            (place / "ready").touch()
    return place / "bin" / "python"


if __name__ == "__main__":
    print(interpreter())
