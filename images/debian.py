"""Where this machine gets Debian's packages, and the programs a build needs from there."""

import shutil
from collections.abc import Callable
from pathlib import Path

from images.command import run
from images.errors import ImageError

KEYRINGS = Path("/usr/share/keyrings")
TOOLS = ("mmdebstrap", "buildah", "skopeo")
_NEWEST_KEYS = "debian-archive-trixie-*"
_APT_S = 900
_FORMAT = "$(CREATED_BY) $(REPO_URI) $(LABEL) $(COMPONENT)"


def mirrors() -> dict[str, str]:
    """The addresses that apt uses for `Debian` and, where it is configured, `Debian-Security`."""
    listing = ["apt-get", "indextargets", "--format", _FORMAT]
    try:
        return parse_targets(run(listing, timeout_s=60))
    except ImageError:
        # A fresh machine has sources, but no lists yet that say whose they are.
        run(["apt-get", "update", "-q"], timeout_s=_APT_S)
        return parse_targets(run(listing, timeout_s=60))


def parse_targets(text: str) -> dict[str, str]:
    """Label to address, from `apt-get indextargets`; the first `main` of a label counts."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        match line.split():
            case ["Packages", address, "Debian" | "Debian-Security" as label, "main"]:
                found.setdefault(label, address)
    if "Debian" not in found:
        raise ImageError("apt knows no Debian archive here: name one in /etc/apt/sources.list.d")
    return found


def sources(suite: str, addresses: dict[str, str]) -> list[str]:
    """Lines of sources.list: main of a suite, its updates, and security where it is mirrored."""
    lines = [f"deb {addresses['Debian']} {name} main" for name in (suite, f"{suite}-updates")]
    if "Debian-Security" in addresses:
        lines.append(f"deb {addresses['Debian-Security']} {suite}-security main")
    return lines


def install_tools(say: Callable[[str], None]) -> None:
    """Install what is missing of the programs that build and push."""
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if not any(KEYRINGS.glob(_NEWEST_KEYS)):
        missing.append("debian-archive-keyring")
    if missing:
        say(f"installing {' '.join(missing)}")
        run(["apt-get", "update", "-q"], timeout_s=_APT_S)
        quiet = {"DEBIAN_FRONTEND": "noninteractive"}
        install = ["apt-get", "install", "-y", "-q", "--no-install-recommends", *missing]
        run(install, timeout_s=_APT_S, env=quiet)
