"""Triton's model processes, seen through /proc: Triton itself does not notice when one dies."""

from pathlib import Path

_STUB = "triton_python_backend_stub"


def stubs(server: int, proc: Path = Path("/proc")) -> dict[int, str]:
    """{pid: model name} of the server's living model processes."""
    found = {}
    for folder in proc.iterdir():
        if folder.name.isdigit() and _parent(folder) == server and (model := _model(folder)):
            found[int(folder.name)] = model
    return found


def lost(known: dict[int, str], server: int, proc: Path = Path("/proc")) -> str:
    """The model of the first known process that is gone, or ""."""
    for pid, model in known.items():
        if _parent(proc / str(pid)) != server:
            return model
    return ""


def _parent(folder: Path) -> int:
    """The parent's pid; 0 for a process that is gone or only waits to be buried."""
    try:
        state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
    except OSError:
        return 0
    return 0 if state in "ZX" else int(parent)


def _model(folder: Path) -> str:
    try:
        words = (folder / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")
    except OSError:
        return ""
    if Path(words[0]).name != _STUB or len(words) < 2:
        return ""
    return Path(words[1]).parents[1].name  # …/models/NAME/1/NAME.py
