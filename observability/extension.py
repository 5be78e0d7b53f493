"""An extension module in C: compiled where its sources changed, loaded only if made of them.

The assistant's kernels use it, too. It is here because the tracers' image has nothing of theirs.
"""

import argparse
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.machinery import ExtensionFileLoader
from pathlib import Path
from types import ModuleType

# One file for Python 3.11 and later, with nothing of this machine in it: the instruction set
# is the architecture's lowest, and faster code chooses itself at run time.
_COMPILE = (
    *("-std=c11", "-O2", "-fPIC", "-fvisibility=hidden"),
    *("-Wall", "-Wextra", "-Werror", "-DPy_LIMITED_API=0x030B0000"),
)
_LINK = ("-lm", "-shared", "-Wl,--build-id=none")


class BuildError(Exception):
    """The module cannot be compiled; one line, or the compiler's."""


class ExtensionMissing(Exception):
    """The compiled module is not there, or is not made of these sources; one line."""


@dataclass(frozen=True)
class Extension:
    """Where a module's sources are, and how it is made of them."""

    package: str
    """`python -m PACKAGE` compiles it."""
    folder: Path
    """Its sources are all `*.c` and `*.h` here; they give the module `SOURCES` as its own."""
    module: Path
    """The compiled file that is loaded."""
    flags: tuple[str, ...] = ()
    """What it needs of compiler and linker beyond what all do."""

    def sources(self) -> str:
        """SHA-256 of every source and of how it is compiled."""
        digest = hashlib.sha256(repr((_COMPILE, _LINK, self.flags)).encode())
        for file in sorted(self.folder.glob("*.[ch]")):
            digest.update(f"{file.name}\0".encode() + file.read_bytes())
        return digest.hexdigest()

    def is_current(self, module: Path) -> bool:
        """Whether the file `module` was compiled from these sources."""
        return module.is_file() and self.sources().encode() in module.read_bytes()

    def load(self) -> ModuleType:
        """The module. Errors: `ExtensionMissing` with the command that builds it."""
        command = f"run `python -m {self.package}`"
        if not self.module.is_file():
            raise ExtensionMissing(f"{self.module} is missing; {command}")
        name = self.module.name.split(".")[0]
        spec = importlib.util.spec_from_loader(name, ExtensionFileLoader(name, str(self.module)))
        assert spec
        module = importlib.util.module_from_spec(spec)
        if self.sources() != module.SOURCES:
            raise ExtensionMissing(f"{self.module} was built from other sources; {command}")
        return module

    def build(self, out: Path) -> None:
        """Compile to `out`, whole or not at all. Errors: `BuildError`."""
        include = sysconfig.get_path("include")
        if not Path(include, "Python.h").is_file():
            raise BuildError(f"{include}/Python.h is missing; run `apt-get install libpython3-dev`")
        flags = (*_COMPILE, *self.flags, f'-DSOURCES="{self.sources()}"', f"-I{include}")

        with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(os.cpu_count()) as pool:

            def compile_one(source: str) -> str:
                made = str(Path(scratch, source).with_suffix(".o"))
                self._run(source, *flags, "-c", source, "-o", made)
                return made

            # Names without their folder, so that the place of the checkout is in no object.
            names = sorted(file.name for file in self.folder.glob("*.c"))
            objects = list(pool.map(compile_one, names))
            made = Path(scratch, out.name)
            # Who asks for debugging wants the symbols, too.
            kept = () if "-g" in self.flags else ("-s",)
            self._run(out.name, *objects, *self.flags, *_LINK, *kept, "-o", str(made))
            # Another process may be loading it.
            fresh = out.with_name(f"{out.name}.{os.getpid()}")
            shutil.copyfile(made, fresh)
            fresh.replace(out)

    def _run(self, what: str, *words: str) -> None:
        compiler = os.environ.get("CC", "gcc")
        try:
            done = subprocess.run(
                [compiler, *words], cwd=self.folder, capture_output=True, text=True
            )
        except FileNotFoundError:
            raise BuildError(
                f"{compiler} is missing; run `apt-get install gcc libc6-dev`"
            ) from None
        if done.returncode:
            raise BuildError(f"{compiler} refuses {what}:\n{done.stderr}")


def main(extension: Extension) -> int:
    """The command `python -m PACKAGE`; its exit status."""
    parser = argparse.ArgumentParser(
        prog=f"python -m {extension.package}",
        description=f"Compile {extension.module.name} where its sources changed.",
        epilog=f"example: python -m {extension.package} --out /tmp/{extension.module.name}",
    )
    parser.add_argument(
        "--out", type=Path, default=extension.module, help="where to (default: beside the sources)"
    )
    out = parser.parse_args().out
    if extension.is_current(out):
        return 0
    print(f"compiling {out.name}", file=sys.stderr, flush=True)
    try:
        extension.build(out)
    except BuildError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0
