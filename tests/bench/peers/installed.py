"""Packages to compare with, in virtual environments of their own.

`python -m tests.bench.peers.installed NAME` makes that of `NAME.txt` once for each version and
prints the interpreter that can import them. Nothing of the product depends on it.
"""

import fcntl
import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

from deploy.cluster.topology import cache_folder
from tests.bench.progress import say


def interpreter(name: str) -> Path:
    """A Python that can import the packages of `NAME.txt`, made now if the cache lacks it.

    Errors: SystemExit, after what pip said.
    """
    packages = Path(__file__).with_name(f"{name}.txt")
    digest = hashlib.sha256(packages.read_bytes() + str(sys.version_info[:2]).encode())
    place = cache_folder() / "peers" / f"{name}-{digest.hexdigest()[:16]}"
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / "ready").exists():
            shutil.rmtree(place, ignore_errors=True)
            say(f"installing the peers of {name}.in")
            subprocess.run([sys.executable, "-m", "venv", place], check=True)
            pip = [place / "bin" / "pip", "install", "--quiet", "--no-deps", "--require-hashes"]
            if subprocess.run([*pip, "-r", packages]).returncode:
                raise SystemExit("installing the peers failed")
            (place / "ready").touch()
    return place / "bin" / "python"


if __name__ == "__main__":
    print(interpreter(sys.argv[1]))
