"""Compiles the C sources into one extension module for every CPU of the architecture.

The baseline is the compiler's own; faster kernels carry their instruction set in their
source and are chosen at run time. Nothing of this machine enters the result.
"""

import hashlib
import os
import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

FOLDER = Path(__file__).parent
MODULE = FOLDER / "_core.abi3.so"
_FLAGS = (
    *("-std=c11", "-O2", "-fPIC", "-fvisibility=hidden", "-pthread"),
    # No product may be fused with a sum here and not there: results are the same to the bit.
    *("-ffp-contract=off", "-fno-math-errno"),
    *("-Wall", "-Wextra", "-Werror", "-DPy_LIMITED_API=0x030B0000"),
)
_X86_ONLY = ("kernels_avx2.c", "kernels_avx512.c")


class BuildError(Exception):
    """The module cannot be compiled; one line."""


def sources_digest() -> str:
    """SHA-256 of every source and of how it is compiled."""
    digest = hashlib.sha256(repr(_FLAGS).encode())
    for file in sorted(FOLDER.glob("*.[ch]")):
        digest.update(f"{file.name}\0".encode() + file.read_bytes())
    return digest.hexdigest()


def is_current(module: Path) -> bool:
    """Whether `module` was compiled from these sources."""
    return module.is_file() and sources_digest().encode() in module.read_bytes()


def build(out: Path = MODULE, extra: Sequence[str] = ()) -> None:
    """Compile to `out`, with `extra` flags. Errors: `BuildError`."""
    compiler = os.environ.get("CC", "gcc")
    include = sysconfig.get_path("include")
    if not Path(include, "Python.h").is_file():
        raise BuildError(f"{include}/Python.h is missing; run `apt-get install libpython3-dev`")
    flags = (*_FLAGS, *extra, f'-DSOURCES="{sources_digest()}"', f"-I{include}")
    with tempfile.TemporaryDirectory() as folder:
        compile_one = partial(_compile, compiler, flags, Path(folder))
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            objects = list(pool.map(compile_one, _sources()))
        made = Path(folder, out.name)
        _run(compiler, "-shared", "-Wl,--build-id=none", *extra, *objects, "-lm", "-pthread",
             "-s" if not extra else "-g", "-o", str(made))  # fmt: skip
        # Whole or not at all: another process may be loading it.
        fresh = out.with_name(f"{out.name}.{os.getpid()}")
        shutil.copyfile(made, fresh)
        fresh.replace(out)


def _sources() -> list[Path]:
    x86 = sysconfig.get_platform().endswith("x86_64")
    return [file for file in sorted(FOLDER.glob("*.c")) if x86 or file.name not in _X86_ONLY]


def _compile(compiler: str, flags: Sequence[str], folder: Path, source: Path) -> str:
    # A relative name, so that the place of the checkout is not in the object.
    out = str(folder / source.with_suffix(".o").name)
    _run(compiler, *flags, "-c", source.name, "-o", out)
    return out


def _run(*command: str) -> None:
    try:
        done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True)
    except FileNotFoundError:
        raise BuildError(f"{command[0]} is missing; run `apt-get install gcc libc6-dev`") from None
    if done.returncode:
        raise BuildError(f"{command[0]} refuses {command[-3]}:\n{done.stderr}")
