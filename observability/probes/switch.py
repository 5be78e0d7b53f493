"""Turns tracing on and off as tracers come and go; asked at the beginning of each request."""

import logging
import threading

from observability.native import CHAINS, FUNCTIONS, OBJECTS, Native
from observability.probes import carry, holders
from observability.probes.control import Control, Wishes
from observability.probes.driver import Driver
from observability.probes.objects import Objects
from observability.probes.request import REQUEST_ID

log = logging.getLogger(__name__)


class Switch:
    """Holds what is on. While nobody is attached, `look` is one call that finds nothing."""

    def __init__(self, points: Native, driver: Driver, control: Control | None) -> None:
        self._points = points
        self._driver = driver
        self._objects = Objects(points)
        self._control = control
        self._on = 0
        self._lock = threading.Lock()
        points.requests_from(REQUEST_ID.get)

    def look(self) -> None:
        """Notice tracers that came or left, and new wishes while one is there."""
        attached = self._points.attached()
        if not (attached or self._on):
            return
        # Two requests may begin at once, in two threads; one of them is enough.
        if self._lock.acquire(blocking=False):
            try:
                self._follow(attached)
            except Exception:
                log.exception("tracing could not be turned on or off; the request goes on")
            finally:
                self._lock.release()

    def _follow(self, attached: int) -> None:
        new = bool(attached and self._control and self._control.changed())
        changed, self._on = attached ^ self._on, attached
        wishes = self._control.wishes if self._control else Wishes()
        if changed & FUNCTIONS or (new and attached & FUNCTIONS):
            self._functions(bool(attached & FUNCTIONS), wishes)
        if changed & OBJECTS or (new and attached & OBJECTS):
            self._objects.mark(wishes.types if attached & OBJECTS else ())
        if attached & CHAINS and (new or changed & CHAINS):
            for kind in wishes.chains:
                holders.tell(self._points, kind)

    def _functions(self, on: bool, wishes: Wishes) -> None:
        if on:
            carry.on()
            self._driver.on(wishes.wants)
        else:
            self._driver.off()
            carry.off()
