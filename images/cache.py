"""Where builds keep what they need again, outside the checkout."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

_CONTEXT = "context-"
_SCRATCH = "tmp"


def folder() -> Path:
    """`$XDG_CACHE_HOME/switchyard/images`, made if it is not there."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    path = Path(home, "switchyard", "images")
    path.mkdir(parents=True, exist_ok=True)
    return path


def scratch() -> dict[str, str]:
    """An environment in which programs keep big temporary files on the cache's disk."""
    path = folder() / _SCRATCH
    path.mkdir(exist_ok=True)
    return {"TMPDIR": str(path)}


@contextmanager
def held(say: Callable[[str], None]) -> Iterator[None]:
    """Only one process at a time builds in one cache; another says so and waits here."""
    with (folder() / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another build is running: waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        # By a build that was killed: this process is the only one now.
        for left in (*folder().glob(f"{_CONTEXT}*"), *folder().glob(f"{_SCRATCH}/*")):
            _clear(left)
        yield


@contextmanager
def idle() -> Iterator[bool]:
    """Whether nobody builds in this cache; if so, nobody begins to while the context is open."""
    with (folder() / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


def _clear(left: Path) -> None:
    """Delete what a killed build left, unless something is still mounted in it."""
    if str(left) in Path("/proc/self/mountinfo").read_text():
        return
    if left.is_dir() and not left.is_symlink():
        shutil.rmtree(left)
    else:
        left.unlink()


@contextmanager
def context() -> Iterator[Path]:
    """An empty folder for one build's context, gone afterwards."""
    path = Path(tempfile.mkdtemp(prefix=_CONTEXT, dir=folder()))
    try:
        yield path
    finally:
        shutil.rmtree(path)


def write(path: Path, text: str) -> None:
    """Put a file there whole, or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(path.name + ".new")
    fresh.write_text(text)
    fresh.replace(path)
