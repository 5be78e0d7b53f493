"""The records in the cluster, looked at seldom: reading them all is much to read."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from rollout import records
from rollout.cluster import Api
from rollout.errors import RolloutError
from rollout.names import Names
from rollout.observation import Shelved

LOOK_S = 3600.0

log = logging.getLogger("rollout")


class Shelf:
    """What is recorded, as far as keeping it goes."""

    def __init__(self, api: Api, names: Names, clock: Callable[[], float] = time.monotonic) -> None:
        self._api = api
        self._names = names
        self._clock = clock
        self._seen: tuple[Shelved, ...] = ()
        self._until = float("-inf")

    def look(self) -> tuple[Shelved, ...]:
        """The records as of an hour ago at most; none if they cannot be read, so that none goes."""
        if self._clock() < self._until:
            return self._seen
        try:
            self._seen = tuple(records.shelved(self._api, self._names))
        except RolloutError as error:
            # A controller that may not list them still has traffic to move.
            log.warning("old records stay: %s", error)
            self._seen = ()
        self._until = self._clock() + LOOK_S
        return self._seen

    def changed(self) -> None:
        """A verdict was recorded: look again."""
        self._until = float("-inf")

    def forget(self, numbers: tuple[int, ...]) -> None:
        """Delete records; an absent one is no error."""
        for number in numbers:
            records.delete(self._api, self._names, number)
        self._seen = tuple(one for one in self._seen if one.number not in numbers)
