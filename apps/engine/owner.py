"""The process that made something: its locks and threads do not live on in a forked child."""

import os

from apps.engine.errors import Forked


class Owner:
    """The process that it was made in."""

    def __init__(self) -> None:
        self._process = os.getpid()

    @property
    def here(self) -> bool:
        """Whether this is that process."""
        return os.getpid() == self._process

    def check(self) -> None:
        """Errors: `Forked` anywhere else."""
        if not self.here:
            raise Forked("the engine was loaded in another process; load it after the fork (spawn)")
