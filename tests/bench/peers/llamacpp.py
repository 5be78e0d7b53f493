"""llama.cpp to compare with, built from its Python package's source into a cache of its own.

`python -m tests.bench.peers.llamacpp [--openmp]` builds it (about 13 minutes of CPU, once for
each version and set of flags) and prints the interpreter that can import it. Nothing of the
product depends on it.
"""

import argparse
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from deploy.cluster.topology import cache_folder
from tests.bench.progress import say

REQUIREMENTS = Path(__file__).with_name("llamacpp.txt")
# Native, so that it is as fast as it can be here; without AMX, which some virtual machines
# advertise and then answer with SIGILL. The rest leaves out what is not measured.
FLAGS = (
    "-DGGML_NATIVE=ON",
    "-DGGML_AMX_INT8=OFF",
    "-DGGML_AMX_TILE=OFF",
    "-DGGML_AMX_BF16=OFF",
    "-DLLAVA_BUILD=OFF",
)
_SECONDS = 3 * 3600
_PROGRESS_S = 30


def folder(openmp: bool, cache: Path) -> Path:
    """Where the build with these flags lies once it is there."""
    digest = hashlib.sha256(REQUIREMENTS.read_bytes())
    digest.update("\0".join((str(sys.version_info[:2]), *flags(openmp))).encode())
    kind = "openmp" if openmp else "threads"
    return cache / "peers" / f"llamacpp-{kind}-{digest.hexdigest()[:16]}"


def flags(openmp: bool) -> tuple[str, ...]:
    """CMake's flags; without OpenMP llama.cpp uses threads of its own."""
    return (*FLAGS, f"-DGGML_OPENMP={'ON' if openmp else 'OFF'}")


def interpreter(openmp: bool = False) -> Path:
    """A Python that can `import llama_cpp`, made now if the cache lacks it.

    Errors: SystemExit names the build's log.
    """
    place = folder(openmp, cache_folder())
    python, ready = place / "bin" / "python", place / "ready"
    if ready.exists():
        return python
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not ready.exists():
            _build(place, python, flags(openmp))
            ready.touch()
    return python


def _build(place: Path, python: Path, flags: tuple[str, ...]) -> None:
    shutil.rmtree(place, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", place], check=True)
    log = place / "build.log"
    # Without the cache: pip would take a wheel of other flags for the same.
    argv = ["nice", "-n", "19", python, "-m", "pip", "install", "--verbose", "--no-cache-dir",
            "--no-deps", "--require-hashes", "--no-binary", "llama-cpp-python",
            "-r", REQUIREMENTS]  # fmt: skip
    env = {"CMAKE_BUILD_PARALLEL_LEVEL": "1"} | os.environ | {"CMAKE_ARGS": " ".join(flags)}
    say(f"building llama.cpp with {' '.join(flags)}: about 13 minutes; log: {log}")
    begun = time.monotonic()
    with log.open("w") as file:
        pip = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=file, stderr=file, env=env)
        while pip.poll() is None:
            try:
                pip.wait(_PROGRESS_S)
            except subprocess.TimeoutExpired:
                spent = time.monotonic() - begun
                say(f"  {spent / 60:.1f} min: {_last_line(log)[:90]}")
                if spent > _SECONDS:
                    pip.terminate()
    if pip.returncode:
        raise SystemExit(f"building llama.cpp failed; read {log}")


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--openmp", action="store_true", help="with OpenMP's threads")
    print(interpreter(parser.parse_args().openmp))


if __name__ == "__main__":
    main()
