"""Compiles the C sources into one extension module for Python 3.11 and later.

Nothing of this machine enters the result.
"""

import hashlib
import os
import subprocess
import sysconfig
from pathlib import Path

FOLDER = Path(__file__).parent
MODULE = FOLDER / "_native.abi3.so"
_FLAGS = (
    *("-std=c11", "-O2", "-fPIC", "-shared", "-fvisibility=hidden"),
    # An `endbr64` before a probe's first instruction would make it a hundred times as slow.
    *("-fcf-protection=none", "-Wall", "-Wextra", "-Werror", "-DPy_LIMITED_API=0x030B0000"),
    *("-Wl,--build-id=none", "-s"),
)


class BuildError(Exception):
    """The module cannot be compiled; one line, or the compiler's."""


def sources_digest() -> str:
    """SHA-256 of every source and of how it is compiled."""
    digest = hashlib.sha256(repr(_FLAGS).encode())
    for file in sorted(FOLDER.glob("*.[ch]")):
        digest.update(f"{file.name}\0".encode() + file.read_bytes())
    return digest.hexdigest()


def is_current(module: Path) -> bool:
    """Whether `module` was compiled from these sources."""
    return module.is_file() and sources_digest().encode() in module.read_bytes()


def build(out: Path = MODULE) -> None:
    """Compile to `out`, whole or not at all. Errors: `BuildError`."""
    compiler = os.environ.get("CC", "gcc")
    include = Path(sysconfig.get_path("include"))
    if not (include / "Python.h").is_file():
        raise BuildError(f"{include}/Python.h is missing; run `apt-get install libpython3-dev`")
    fresh = out.absolute().with_name(f"{out.name}.{os.getpid()}")
    sources = [file.name for file in sorted(FOLDER.glob("*.c"))]
    define = f'-DSOURCES="{sources_digest()}"'
    command = [compiler, *_FLAGS, define, f"-I{include}", *sources, "-o", str(fresh)]
    try:
        done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True)
    except FileNotFoundError:
        raise BuildError(f"{compiler} is missing; run `apt-get install gcc libc6-dev`") from None
    if done.returncode:
        fresh.unlink(missing_ok=True)
        raise BuildError(f"{compiler} refuses the sources:\n{done.stderr}")
    fresh.replace(out)
