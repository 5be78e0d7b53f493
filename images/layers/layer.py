"""One layer: a key that says what is in it, and the Containerfile that puts it over its parent."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

USER = 10001
PASSWD = f"switchyard:x:{USER}:{USER}::/app:/usr/sbin/nologin\n"
GROUP = f"switchyard:x:{USER}:\n"


@dataclass(frozen=True)
class Layer:
    """A step of an image. Two layers with equal keys over equal parents are the same layer."""

    title: str
    """What progress lines call it."""
    key: str
    """Text that changes whenever the contents would."""
    containerfile: str
    """`FROM ${PARENT}` and what to add from the context."""
    prepare: Callable[[Path], None]
    """Fills a fresh folder with the context."""
