"""Which Python functions a request ran: our own probe points, driven while somebody looks.

`start(environment)` reads PROBES, a list of packages ("apps.gateway,apps.retrieval"), and
prepares their functions. Nothing else happens until a tracer attaches to the points of
`observability.native`; whoever serves a request names it with `request.begin`, which is
also where the driver notices tracers that came or left.
"""

import logging
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from observability import native
from observability.probes import finder, request
from observability.probes.control import Control
from observability.probes.driver import Driver
from observability.probes.functions import Packages
from observability.probes.switch import Switch

__all__ = ["start"]

log = logging.getLogger(__name__)


def start(environment: Mapping[str, str] = os.environ) -> bool:
    """Prepare the packages that PROBES names; PROBES_CONTROL names a file that narrows them
    while the process runs (see control). Says whether they can be traced; never raises."""
    packages = Packages.read(environment.get("PROBES", ""))
    if not packages:
        return False
    points = native.available()
    if points is None:
        return False
    driver = _driver(points)
    finder.install(packages, driver)
    path = environment.get("PROBES_CONTROL")
    control = Control(Path(path), warn=lambda line: log.warning("%s", line)) if path else None
    request.watch(Switch(points, driver, control).look)
    return True


def _driver(points: native.Native) -> Driver:
    if sys.version_info >= (3, 12):
        from observability.probes.monitoring import Monitoring

        return Monitoring(points)
    from observability.probes.wrappers import Wrappers

    return Wrappers(points)
