"""What the reading process and the loader tell each other: one JSON text a line. Pure.

JSON and not pickles: the reading process has had a stranger's file in its hands.
"""

import json
from dataclasses import asdict
from datetime import date
from typing import Any

from apps.loader.blocks import Block, Heading, Paragraph, Table, TableRow
from apps.loader.chunk import Box
from apps.loader.errors import Unreadable
from apps.loader.file import Reading


def encode(answer: Reading | Unreadable) -> bytes:
    """One line."""
    if isinstance(answer, Unreadable):
        message: dict[str, Any] = {"kind": answer.kind, "why": answer.why}
    else:
        message = {name: getattr(answer, name) for name in _PLAIN}
        message["date"] = answer.date.isoformat() if answer.date else None
        message["left_out"] = list(answer.left_out.items())
        message["blocks"] = [_listed(block) for block in answer.blocks]
    return json.dumps(message, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def decode(line: bytes) -> Reading:
    """The reading, or raises the `Unreadable` that was sent."""
    message = json.loads(line)
    if "kind" in message:
        raise Unreadable(str(message["kind"]), str(message["why"]))
    day = message["date"]
    return Reading(
        **{name: message[name] for name in _PLAIN},
        date=date.fromisoformat(day) if day else None,
        left_out=dict(message["left_out"]),
        blocks=[_block(*fields) for fields in message["blocks"]],
    )


_PLAIN = ("sha3", "title", "language", "pages", "hidden", "ocr", "repaired")


def _listed(block: Block) -> list[Any]:
    if isinstance(block, Paragraph):
        return ["p", block.text, [_corners(box) for box in block.boxes], block.ends]
    if isinstance(block, Heading):
        return ["h", block.text, _corners(block.box), block.level]
    rows = [[row.cells, [_corners(box) for box in row.boxes]] for row in block.rows]
    return ["t", block.title, block.header, rows, _corners(block.box)]


def _corners(box: Box) -> list[float]:
    return list(asdict(box).values())


def _block(kind: str, text: str, *rest: Any) -> Block:
    if kind == "p":
        return Paragraph(text, [Box(*corners) for corners in rest[0]], rest[1])
    if kind == "h":
        return Heading(text, Box(*rest[0]), rest[1])
    header, rows, corners = rest
    made = [TableRow(cells, [Box(*box) for box in boxes]) for cells, boxes in rows]
    return Table(header, made, Box(*corners), text)
