"""An API server of dictionaries that raises on everything a test does not expect."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterable
from typing import Any

from rollout.errors import ApiError, Conflict, Refused, RolloutError

Object = dict[str, Any]
_IN = re.compile(r"([^\s,]+) in \(([^)]*)\)")


class Unexpected(AssertionError):
    """A request that no test foresaw."""


class FakeApi:
    """Objects by path; `calls` has (verb, path) of every request in order."""

    def __init__(self) -> None:
        self.objects: dict[str, Object] = {}
        self.calls: list[tuple[str, str]] = []
        self.before: Callable[[str, str], None] = lambda verb, path: None
        """Called before each request: to interfere, or to fail."""
        self._version = 0

    def put(self, path: str, **body: Any) -> Object:
        """Store an object without it counting as a call."""
        metadata = {"name": path.rpartition("/")[2], **body.pop("metadata", {})}
        return self._store(path, {"metadata": metadata, **body})

    def get(self, path: str) -> Object | None:
        self._called("get", path)
        return copy.deepcopy(self.objects.get(path))

    def items(self, path: str, labels: str = "") -> list[Object]:
        self._called("list", path)
        found = (one for key, one in self.objects.items() if key.rpartition("/")[0] == path)
        return [copy.deepcopy(one) for one in found if _matches(one, labels)]

    def pages(self, path: str, labels: str, limit: int) -> list[list[Object]]:
        found = self.items(path, labels)
        return [found[start : start + limit] for start in range(0, max(len(found), 1), limit)]

    def create(self, path: str, body: Object) -> Object:
        name = f"{path}/{body['metadata']['name']}"
        self._called("create", name)
        if name in self.objects:
            raise Conflict(409, f"{name} already exists")
        return self._store(name, body)

    def replace(self, path: str, body: Object) -> Object:
        self._called("replace", path)
        have = self._have(path)
        version = body["metadata"].get("resourceVersion")
        if version is not None and version != have["metadata"]["resourceVersion"]:
            raise Conflict(409, f"{path} has been modified")
        return self._store(path, body)

    def patch(self, path: str, operations: list[Object]) -> Object:
        self._called("patch", path)
        body = copy.deepcopy(self._have(path))
        for operation in operations:
            _operate(body, operation, path)
        return self._store(path, body)

    def apply(self, path: str, body: Object, manager: str, *, force: bool = False) -> Object:
        self._called("apply", path)
        have = copy.deepcopy(self.objects.get(path, {}))
        version = body["metadata"].get("resourceVersion")
        if version is not None and version != have.get("metadata", {}).get("resourceVersion"):
            raise Conflict(409, f"{path} has been modified")
        return self._store(path, _merge(have, body))

    def delete(self, path: str) -> None:
        self._called("delete", path)
        self.objects.pop(path, None)

    def call(self, method: str, path: str, timeout_s: float | None = None) -> bytes:
        self._called(method, path)
        if not path.endswith("/proxy/drain"):
            raise Unexpected(f"{method} {path}")
        return b"{}"

    def together(self, calls: Iterable[Callable[[], Any]]) -> list[Any]:
        return together(calls)

    def verbs(self, *verbs: str) -> list[str]:
        """The last parts of the paths of these verbs' calls, in order."""
        return [path.rpartition("/")[2] for verb, path in self.calls if verb in verbs]

    def _called(self, verb: str, path: str) -> None:
        self.calls.append((verb, path))
        if not re.match(r"/(api/v1|apis/[a-z0-9.]+/v[12])/namespaces/[a-z-]+/[a-z]+(/|$)", path):
            raise Unexpected(f"{verb} {path}")
        self.before(verb, path)

    def _have(self, path: str) -> Object:
        if path not in self.objects:
            raise ApiError(404, f"{path} not found")
        return self.objects[path]

    def _store(self, path: str, body: Object) -> Object:
        self._version += 1
        body = copy.deepcopy(body)
        body["metadata"]["resourceVersion"] = str(self._version)
        self.objects[path] = body
        return copy.deepcopy(body)


def together(calls: Iterable[Callable[[], Any]]) -> list[Any]:
    """As the client does: every call is made, and the first error raised at the end."""
    answers, errors = [], []
    for call in calls:
        try:
            answers.append(call())
        except RolloutError as error:
            errors.append(error)
    if errors:
        raise errors[0]
    return answers


def _matches(one: Object, selector: str) -> bool:
    labels = one["metadata"].get("labels", {})
    many = _IN.search(selector)
    if many and labels.get(many[1]) not in many[2].split(","):
        return False
    for term in filter(None, _IN.sub("", selector).split(",")):
        name, equals, value = term.partition("=")
        if name not in labels or (equals and labels[name] != value):
            return False
    return True


def _operate(body: Object, operation: Object, path: str) -> None:
    *way, last = [
        step.replace("~1", "/").replace("~0", "~") for step in operation["path"].split("/")[1:]
    ]
    place: Any = body
    for step in way:
        if step not in place:
            raise Refused(422, f"{path}: no {operation['path']}")
        place = place[step]
    if operation["op"] == "test":
        if place.get(last) != operation["value"]:
            raise Refused(422, f"{path}: test of {operation['path']} failed")
    elif operation["op"] == "add":
        place[last] = operation["value"]
    else:
        raise Unexpected(f"operation {operation}")


def _merge(have: Object, body: Object) -> Object:
    for key, value in body.items():
        if isinstance(value, dict) and isinstance(have.get(key), dict):
            _merge(have[key], value)
        else:
            have[key] = copy.deepcopy(value)
    return have
