"""A thin client of the Kubernetes API: objects and errors in Python, and no policy."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

from rollout.access import Access
from rollout.connection import TIMEOUT_S, Connections
from rollout.errors import ApiError, ApiUnavailable, Conflict, Refused
from rollout.names import MANAGER

CALLS_AT_ONCE = 6
JSON = "application/json"
JSON_PATCH = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"

Object = dict[str, Any]
T = TypeVar("T")


class Api:
    """The API server behind `access`. Safe to use from several threads."""

    def __init__(self, access: Access, timeout_s: float = TIMEOUT_S) -> None:
        self._access = access
        self._connections = Connections(access, timeout_s)
        self._pool = ThreadPoolExecutor(CALLS_AT_ONCE, thread_name_prefix="api")

    def get(self, path: str) -> Object | None:
        """One object, or None if there is none."""
        try:
            return self._json("GET", path)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def items(self, path: str, labels: str = "") -> list[Object]:
        """The objects of a collection, filtered by a label selector."""
        query = f"?{urlencode({'labelSelector': labels})}" if labels else ""
        found: list[Object] = self._json("GET", path + query).get("items") or []
        return found

    def pages(self, path: str, labels: str, limit: int) -> Iterator[list[Object]]:
        """The objects of a large collection, at most `limit` in each request."""
        more = ""
        while True:
            query = {"limit": limit, "labelSelector": labels, "continue": more}
            answer = self._json("GET", f"{path}?{urlencode(query)}")
            yield answer.get("items") or []
            more = answer.get("metadata", {}).get("continue") or ""
            if not more:
                return

    def create(self, path: str, body: Object) -> Object:
        """Create an object in a collection. Raises Conflict if it exists."""
        return self._json("POST", f"{path}?fieldManager={MANAGER}", body)

    def replace(self, path: str, body: Object) -> Object:
        """Replace an object; with `metadata.resourceVersion` only that version (else Conflict)."""
        return self._json("PUT", f"{path}?fieldManager={MANAGER}", body)

    def patch(self, path: str, operations: list[Object]) -> Object:
        """JSON Patch. Raises Refused if one of its `test` operations does not hold."""
        return self._json("PATCH", f"{path}?fieldManager={MANAGER}", operations, JSON_PATCH)

    def apply(self, path: str, body: Object, manager: str, *, force: bool = False) -> Object:
        """Server-side apply. Raises Conflict if somebody else owns a field."""
        query = f"?fieldManager={manager}&force={'true' if force else 'false'}"
        return self._json("PATCH", path + query, body, APPLY)

    def delete(self, path: str) -> None:
        """Delete an object; an absent one is no error."""
        try:
            self._json("DELETE", path)
        except ApiError as error:
            if error.status != 404:
                raise

    def call(self, method: str, path: str, timeout_s: float | None = None) -> bytes:
        """A request whose answer need not be JSON, such as one through the pod proxy."""
        return self._request(method, path, None, JSON, timeout_s)

    def together(self, calls: Iterable[Callable[[], T]]) -> list[T]:
        """Run calls at once over kept-alive connections; the first error is raised at the end."""
        futures = [self._pool.submit(call) for call in calls]
        errors = [future.exception() for future in futures]
        for error in errors:
            if error is not None:
                raise error
        return [future.result() for future in futures]

    def _json(self, method: str, path: str, body: Any = None, kind: str = JSON) -> Object:
        answer: Object = json.loads(self._request(method, path, body, kind, None))
        return answer

    def _request(
        self, method: str, path: str, body: Any, kind: str, timeout_s: float | None
    ) -> bytes:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": kind, "Accept": JSON, "User-Agent": "switchyard-rollout"}
        authorization = self._access.token.header()
        if authorization:
            headers["Authorization"] = authorization
        status, answer = self._connections.send(method, path, data, headers, timeout_s)
        if status >= 400:
            raise _error(method, path, status, answer)
        return answer


def core(namespace: str, kind: str, name: str = "") -> str:
    """The path of a core/v1 object or collection: `core("a", "services", "b")`."""
    return _path("api/v1", namespace, kind, name)


def apps(namespace: str, name: str = "") -> str:
    """The path of Deployments."""
    return _path("apis/apps/v1", namespace, "deployments", name)


def group(api: str, namespace: str, kind: str, name: str = "") -> str:
    """The path of an object of another API group, such as `discovery.k8s.io/v1`."""
    return _path(f"apis/{api}", namespace, kind, name)


def _path(prefix: str, namespace: str, kind: str, name: str) -> str:
    path = f"/{prefix}/namespaces/{quote(namespace, safe='')}/{kind}"
    return f"{path}/{quote(name, safe=':')}" if name else path


def _error(method: str, path: str, status: int, answer: bytes) -> Exception:
    try:
        message = str(json.loads(answer)["message"])
    except (ValueError, KeyError, TypeError):
        message = answer[:200].decode("utf8", "replace")
    line = " ".join(f"{method} {path.partition('?')[0]}: {status}: {message}".split())[:500]
    if status == 409:
        return Conflict(status, line)
    if status == 422 and method == "PATCH":
        return Refused(status, line)
    if status == 429 or status >= 500:
        return ApiUnavailable(line)
    return ApiError(status, line)
