"""The record of a release: one ConfigMap each, enough to run it again without git."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from rollout.candidate import Size
from rollout.cluster import Api, Object, core
from rollout.edit import Known
from rollout.errors import Conflict, RolloutError
from rollout.names import Names
from rollout.observation import Shelved
from rollout.state import Ended

LABEL = "switchyard/record"
MAX_BYTES = 900_000
A_PAGE = 20
"""Records in one answer, which then stays well below what the client takes."""
_PACKED = ("manifests", "scenarios")


class BadRecord(RolloutError):
    """A record that cannot be read or written."""


@dataclass(frozen=True, slots=True)
class Record:
    """What a release was and what became of it. Times are unix seconds.

    `manifests` are those of the canary overlay of `lane`; `manifests_sha3` is
    their lane-neutral SHA3-512; `scenarios` are texts by file name.
    """

    number: int
    lane: str
    created: float
    commit: str | None = None
    tree: str | None = None
    subject: str = ""
    tickets: tuple[str, ...] = ()
    images: dict[str, str] = field(default_factory=dict)
    manifests_sha3: str = ""
    predecessor: int | None = None
    sizes: dict[str, Size] = field(default_factory=dict)
    scenarios: dict[str, str] = field(default_factory=dict)
    verdict: str = "running"
    why: str = ""
    verdict_at: float | None = None
    promoted_at: float | None = None
    manifests: list[dict[str, Any]] = field(default_factory=list)

    def known(self, runs_on: str | None) -> Known:
        """As an undo sees it; `runs_on`: the lane that is up with it now."""
        return Known(
            self.number,
            self.commit,
            self.sizes,
            promoted=self.promoted_at is not None,
            lane=runs_on or self.lane,
            runs=runs_on is not None,
        )


def read(api: Api, names: Names, number: int) -> Record | None:
    """The record of release `number`, or None."""
    found = api.get(core(names.control, "configmaps", names.record(number)))
    return parse(found) if found else None


def history(api: Api, names: Names) -> list[Record]:
    """Every record, oldest first."""
    return sorted((parse(one) for one in _bodies(api, names)), key=lambda record: record.number)


def shelved(api: Api, names: Names) -> Iterator[Shelved]:
    """Every record as far as keeping it goes; one that cannot be read is left out, and so kept."""
    for body in _bodies(api, names):
        with suppress(KeyError, TypeError, ValueError):
            plain = json.loads(body["data"]["record.json"])
            number, promoted_at = int(plain["number"]), plain["promoted_at"]
            if body["metadata"]["name"] == names.record(number):
                at = None if promoted_at is None else float(promoted_at)
                yield Shelved(number, at, plain["predecessor"])


def delete(api: Api, names: Names, number: int) -> None:
    """Delete a record; an absent one is no error."""
    api.delete(core(names.control, "configmaps", names.record(number)))


def _bodies(api: Api, names: Names) -> Iterator[Object]:
    for page in api.pages(core(names.control, "configmaps"), LABEL, A_PAGE):
        yield from page


def save(api: Api, names: Names, record: Record) -> None:
    """Create the record, or replace one of a release that was never promoted."""
    collection = core(names.control, "configmaps")
    body = build(names, record)
    try:
        api.create(collection, body)
    except Conflict:
        have = read(api, names, record.number)
        if have is not None and have.promoted_at is not None and have.commit != record.commit:
            raise BadRecord(
                f"release {record.number} was promoted from another commit: the journal is older "
                "than the records; run `rollout init` to mend it"
            ) from None
        if have is None or have.promoted_at is None:
            api.replace(f"{collection}/{names.record(record.number)}", body)


def conclude(api: Api, names: Names, ended: Ended) -> None:
    """Write a verdict into its record; writing it again changes nothing."""
    path = core(names.control, "configmaps", names.record(ended.number))
    found = api.get(path)
    if found is None:
        return
    record = replace(parse(found), verdict=ended.verdict, why=ended.why, verdict_at=ended.at)
    if ended.verdict == "promoted":
        record = replace(record, promoted_at=ended.at)
    body = build(names, record)
    body["metadata"]["resourceVersion"] = found["metadata"]["resourceVersion"]
    api.replace(path, body)


def build(names: Names, record: Record) -> dict[str, Any]:
    """The ConfigMap of a record. Raises BadRecord if it does not fit into one."""
    plain = asdict(record)
    binary = {f"{key}.json.gz": _pack(plain.pop(key)) for key in _PACKED}
    size = sum(len(value) for value in binary.values())
    if size > MAX_BYTES:
        raise BadRecord(
            f"the manifests take {size} bytes, a record holds {MAX_BYTES}: shorten them"
        )
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": names.record(record.number),
            "namespace": names.control,
            "labels": {LABEL: "release"},
        },
        "data": {"record.json": json.dumps(plain, ensure_ascii=False, indent=1)},
        "binaryData": binary,
    }


def parse(body: dict[str, Any]) -> Record:
    """A record from its ConfigMap. Raises BadRecord."""
    name = body["metadata"]["name"]
    try:
        plain = json.loads(body["data"]["record.json"])
        plain["tickets"] = tuple(plain["tickets"])
        plain["sizes"] = {part: Size(**size) for part, size in plain["sizes"].items()}
        return Record(**plain, **{key: _unpack(body, f"{key}.json.gz") for key in _PACKED})
    except (KeyError, TypeError, ValueError, OSError, EOFError) as error:
        raise BadRecord(
            f"record {name} is not readable ({error!r}): choose another release"
        ) from None


def _pack(value: Any) -> str:
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def _unpack(body: dict[str, Any], key: str) -> Any:
    return json.loads(gzip.decompress(base64.b64decode(body["binaryData"][key])))
