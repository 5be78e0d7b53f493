"""llama.cpp to compare with, built from its Python package's source into a cache of its own.

`python -m tests.bench.peers.llamacpp [--openmp]` builds it (about 8 minutes of CPU, once for
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

SOURCE = Path(__file__).with_name("llamacpp-source.txt")
TOOLS = Path(__file__).with_name("llamacpp.txt")
# Native, so that it is as fast as it can be here; without AMX, which some virtual machines
# advertise and then answer with SIGILL. GGML's own AMX switches do not reach -march=native.
_NO_AMX = "-mno-amx-tile -mno-amx-int8 -mno-amx-bf16"
FLAGS = (
    "-DCMAKE_BUILD_TYPE=Release",
    "-DGGML_NATIVE=ON",
    "-DGGML_AMX_TILE=OFF",
    "-DGGML_AMX_INT8=OFF",
    "-DGGML_AMX_BF16=OFF",
    f"-DCMAKE_C_FLAGS={_NO_AMX}",
    f"-DCMAKE_CXX_FLAGS={_NO_AMX}",
    "-DLLAMA_BUILD_COMMON=OFF",
    "-DCMAKE_BUILD_RPATH_USE_ORIGIN=ON",
)
_PROGRESS_S = 30


def flags(openmp: bool) -> tuple[str, ...]:
    """CMake's flags; without OpenMP llama.cpp uses threads of its own."""
    return (*FLAGS, f"-DGGML_OPENMP={'ON' if openmp else 'OFF'}")


def folder(openmp: bool, cache: Path) -> Path:
    """Where the build with these flags lies once it is there."""
    digest = hashlib.sha256(SOURCE.read_bytes() + TOOLS.read_bytes())
    digest.update("\0".join((str(sys.version_info[:2]), *flags(openmp))).encode())
    kind = "openmp" if openmp else "threads"
    return cache / "peers" / f"llamacpp-{kind}-{digest.hexdigest()[:16]}"


def interpreter(openmp: bool = False) -> Path:
    """A Python that can `import llama_cpp`, made now if the cache lacks it.

    Errors: SystemExit names the build's log.
    """
    place = folder(openmp, cache_folder())
    ready = place / "ready"
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not ready.exists():
            shutil.rmtree(place, ignore_errors=True)
            _build(place, flags(openmp))
            ready.touch()
    return place / "bin" / "python"


def _build(place: Path, flags: tuple[str, ...]) -> None:
    """A virtual environment with the package's Python files and the libraries it loads."""
    subprocess.run([sys.executable, "-m", "venv", place], check=True)
    log, work = place / "build.log", place / "build"
    say(f"building llama.cpp with {' '.join(flags)}: about 8 minutes; log: {log}")
    pip = [place / "bin" / "pip", "--no-cache-dir"]
    _run(log, *pip, "install", "--no-deps", "--require-hashes", "-r", TOOLS)
    _run(log, *pip, "download", "--no-deps", "--require-hashes", "--no-binary", "llama-cpp-python",
         "-r", SOURCE, "-d", work)  # fmt: skip
    (archive,) = work.glob("*.tar.gz")
    shutil.unpack_archive(archive, work)
    (source,) = (path for path in work.iterdir() if path.is_dir())
    cmake = place / "bin" / "cmake"
    _run(log, cmake, "-G", "Ninja", "-S", source / "vendor" / "llama.cpp", "-B", work / "out",
         *flags, path=place / "bin")  # fmt: skip
    _run(log, cmake, "--build", work / "out", "--target", "llama", path=place / "bin")
    (site,) = (place / "lib").glob("python*/site-packages")
    shutil.copytree(source / "llama_cpp", site / "llama_cpp")
    shutil.copytree(work / "out" / "bin", site / "llama_cpp" / "lib", dirs_exist_ok=True)
    _run(log, place / "bin" / "python", "-c", "import llama_cpp")
    shutil.rmtree(work)


def _run(log: Path, *argv: str | Path, path: Path | None = None) -> None:
    """Run one step politely, with a line of progress now and then."""
    env = {"CMAKE_BUILD_PARALLEL_LEVEL": "1"} | os.environ
    if path:
        env["PATH"] = f"{path}{os.pathsep}{env['PATH']}"
    begun = time.monotonic()
    with log.open("a") as file:
        step = subprocess.Popen(
            ["nice", "-n", "19", *argv], stdin=subprocess.DEVNULL, stdout=file, stderr=file, env=env
        )
        while step.poll() is None:
            try:
                step.wait(_PROGRESS_S)
            except subprocess.TimeoutExpired:
                say(f"  {(time.monotonic() - begun) / 60:.1f} min: {_last_line(log)[:80]}")
    if step.returncode:
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
