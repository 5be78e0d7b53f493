"""Kept-alive connections to the API server: one a thread, opened again when it was closed."""

from __future__ import annotations

import http.client
import threading

from rollout.access import Access
from rollout.errors import ApiError, ApiUnavailable

TIMEOUT_S = 5.0
MAX_BYTES = 32 << 20


class _Tls(http.client.HTTPSConnection):
    """HTTPS whose certificate may carry another name than the address."""

    def __init__(self, access: Access, timeout_s: float) -> None:
        super().__init__(access.host, access.port, timeout=timeout_s, context=access.context)
        self._access = access

    def connect(self) -> None:
        http.client.HTTPConnection.connect(self)
        assert self._access.context is not None
        name = self._access.server_name or self._access.host
        self.sock = self._access.context.wrap_socket(self.sock, server_hostname=name)


class Connections:
    """The connections of all threads. A request on one that the server closed is sent again."""

    def __init__(self, access: Access, timeout_s: float) -> None:
        self._access = access
        self._timeout_s = timeout_s
        self._local = threading.local()

    def send(
        self,
        method: str,
        path: str,
        data: bytes | None,
        headers: dict[str, str],
        timeout_s: float | None,
    ) -> tuple[int, bytes]:
        """The status and the body. Raises ApiUnavailable, and ApiError for too long a body."""
        while True:
            connection, used = self._open(timeout_s)
            try:
                connection.request(method, path, data, headers)
                response = connection.getresponse()
                answer = response.read(MAX_BYTES + 1)
                if len(answer) > MAX_BYTES:
                    raise ApiError(response.status, f"{path}: more than {MAX_BYTES} bytes")
                return response.status, answer
            except (OSError, http.client.HTTPException) as error:
                self.close()
                # A kept connection may have been closed meanwhile; every write is idempotent.
                if used and not isinstance(error, TimeoutError):
                    continue
                raise ApiUnavailable(
                    f"API server {self._access.host}:{self._access.port}: "
                    f"{' '.join(str(error).split()) or type(error).__name__}"
                ) from None

    def _open(self, timeout_s: float | None) -> tuple[http.client.HTTPConnection, bool]:
        wanted = timeout_s or self._timeout_s
        kept: http.client.HTTPConnection | None = getattr(self._local, "connection", None)
        if kept is not None and kept.sock is not None:
            kept.sock.settimeout(wanted)
            return kept, True
        access = self._access
        if access.context is None:
            made = http.client.HTTPConnection(access.host, access.port, timeout=wanted)
        else:
            made = _Tls(access, wanted)
        self._local.connection = made
        return made, False

    def close(self) -> None:
        """Close this thread's connection."""
        kept = getattr(self._local, "connection", None)
        self._local.connection = None
        if kept is not None:
            kept.close()
