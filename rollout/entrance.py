"""The way into a lane: whether its Service lets a connection through yet.

A Ready pod is told to the node's proxy through its Service's EndpointSlice, a moment after its
Deployment says Ready. Until then the proxy refuses connections to the Service (or, if the Service
itself is new, lets them through to nobody), which is no fault of the release behind it.
"""

from __future__ import annotations

import socket
import time
from urllib.parse import urlsplit

OPEN_S = 20.0
_CONNECT_S = 1.0
_POLL_S = 0.1


def await_open(address: str, seconds: float = OPEN_S) -> str:
    """Until `address` (http://host:port) takes a connection; why it did not, or an empty text."""
    parts = urlsplit(address)
    where = (parts.hostname or "", parts.port or 80)
    deadline = time.monotonic() + seconds
    while True:
        try:
            # Each try is a connection of its own: a lost one's repeats are lost too.
            socket.create_connection(where, _CONNECT_S).close()
            return ""
        except OSError as error:
            if time.monotonic() >= deadline:
                return f"{address} took no connection within {seconds:.0f} s: {error}"
        time.sleep(_POLL_S)
