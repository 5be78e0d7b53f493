"""Run inside an image by `images.check`: import every module of /app; the last line says how many.

It runs before anything else is known to work, so it uses the standard library alone.
"""

import importlib
import sys
from pathlib import Path

# Triton puts these into the model processes that it starts itself.
FROM_TRITON = {"triton_python_backend_utils", "c_python_backend_utils"}


def modules(app: Path) -> list[str]:
    """Names of the modules below `app` that can be imported; `__main__` would start something."""
    found = []
    for file in sorted(app.rglob("*.py")):
        parts = file.relative_to(app).with_suffix("").parts
        packaged = all((folder / "__init__.py").is_file() for folder in _folders(file, app))
        if packaged and parts[-1] != "__main__" and all(part.isidentifier() for part in parts):
            found.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    return found


def _folders(file: Path, app: Path) -> list[Path]:
    return [folder for folder in file.parents if folder != app and app in folder.parents]


def main() -> None:
    """Import them all; the first that fails ends this with its own error."""
    names = modules(Path("/app"))
    sys.path.insert(0, "/app")
    for name in names:
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as missing:
            if missing.name not in FROM_TRITON:
                raise
    print(f"{len(names)} modules imported by Python {sys.version.split()[0]}")


if __name__ == "__main__":
    main()
