"""The lowest layers: a slimmed Debian, or nothing but a user."""

from pathlib import Path
from typing import Any

import yaml

from images import archive, cache, debian
from images.command import run
from images.errors import ImageError
from images.layers.layer import GROUP, PASSWD, Layer

_BOOTSTRAP_S = 900
_FIELDS = {"suite", "python", "packages", "remove"}
# Bytecode that is never compared with its source: all times in an image are 0.
COMPILE = 'RUN ["python3", "-m", "compileall", "-q", "--invalidation-mode=unchecked-hash", "{}"]\n'


def read(root: Path, folder: str) -> dict[str, Any]:
    """The settings of a base, checked for their names."""
    file = root / "images" / folder / "base.yaml"
    try:
        settings = yaml.safe_load(file.read_text())
    except (OSError, yaml.YAMLError) as bad:
        raise ImageError(f"{file}: {bad!s:.200}") from bad
    if not isinstance(settings, dict) or set(settings) != _FIELDS:
        raise ImageError(f"{file}: must have exactly the keys {', '.join(sorted(_FIELDS))}")
    return settings


def debian_layer(root: Path, folder: str) -> Layer:
    """Debian as `images/FOLDER/base.yaml` says, with the user that everything runs as."""
    settings = read(root, folder)
    library = f"/usr/lib/python{settings['python']}"

    def prepare(context: Path) -> None:
        raw = context / "raw.tar"
        _bootstrap(settings, raw)
        user = {"etc/passwd": PASSWD, "etc/group": GROUP}
        archive.slim(raw, context / "base.tar", settings["remove"], user)
        raw.unlink()

    return Layer(
        title=folder,
        key=f"debian {settings} {PASSWD}",
        containerfile="FROM scratch\nADD base.tar /\n" + COMPILE.format(library),
        prepare=prepare,
    )


def scratch_layer() -> Layer:
    """Only the user: for a static program."""

    def prepare(context: Path) -> None:
        etc = context / "etc"
        etc.mkdir()
        (etc / "passwd").write_text(PASSWD)
        (etc / "group").write_text(GROUP)

    return Layer("user", f"scratch {PASSWD}", "FROM scratch\nCOPY etc /etc\n", prepare)


def _bootstrap(settings: dict[str, Any], out: Path) -> None:
    suite = settings["suite"]
    skipped = ("man", "doc", "locale", "info", "lintian")
    command = [
        "mmdebstrap",
        "--mode=root",
        "--variant=minbase",
        f"--include={','.join(settings['packages'])}",
        f"--keyring={debian.KEYRINGS}",
        *(f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in skipped),
        suite,
        str(out),
        *debian.sources(suite, debian.mirrors()),
    ]
    env = {"SOURCE_DATE_EPOCH": "0", **cache.scratch()}
    run(command, timeout_s=_BOOTSTRAP_S, env=env)
