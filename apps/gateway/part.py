"""The head of `POST /v1/documents`, checked: which part of which file."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from apps.gateway.refusal import Refusal

MAX_PART_BYTES = 2 * 1024 * 1024
MAX_FILE_BYTES = 50 * 1024 * 1024
_RANGE = re.compile(r"bytes (?:(\d{1,12})-(\d{1,12})|\*)/(\d{1,12})", re.ASCII)
_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)
_NAME = re.compile(r"[^/\\\x00-\x1f\x7f.][^/\\\x00-\x1f\x7f]{0,195}\.pdf")
_FORM = (
    "send the headers Content-Type: application/pdf, Upload-Name: NAME.pdf (percent-encoded),"
    " Upload-SHA256: the file's digest in hex, Content-Range: bytes FIRST-LAST/SIZE"
)


@dataclass(frozen=True, slots=True)
class Part:
    """Bytes `start` to `end` (exclusive) of a file of `size` bytes; `start` None only asks how
    much of it is there."""

    name: str
    sha256: bytes
    size: int
    start: int | None
    end: int


def read_part(headers: Mapping[str, str]) -> Part:
    """The part that the headers announce, or Refusal (400, 413, 415)."""
    if headers.get("content-type", "").lower() != "application/pdf":
        raise Refusal(415, "the content type is not PDF", _FORM)
    if headers.get("content-encoding", "identity").lower() != "identity":
        raise Refusal(415, "the body is compressed", "send it without Content-Encoding")
    name = unquote(headers.get("upload-name", ""), errors="replace")
    if not _NAME.fullmatch(name) or "\ufffd" in name:
        raise Refusal(400, "the header Upload-Name names no PDF file", _FORM)
    digest = headers.get("upload-sha256", "").lower()
    if not _SHA256.fullmatch(digest):
        raise Refusal(400, "the header Upload-SHA256 is no SHA-256 in hex", _FORM)
    start, end, size = _range(headers.get("content-range", ""))
    return Part(name, bytes.fromhex(digest), size, start, end)


def _range(text: str) -> tuple[int | None, int, int]:
    """(start, end, size) of `bytes 0-99/100` or `bytes */100`."""
    match = _RANGE.fullmatch(text)
    if match is None:
        raise Refusal(400, "the header Content-Range is missing or wrong", _FORM)
    size = int(match[3])
    if not 1 <= size <= MAX_FILE_BYTES:
        raise Refusal(413, f"a file has 1 to {MAX_FILE_BYTES} bytes, not {size}", "split it")
    if match[1] is None:
        return None, 0, size
    start, end = int(match[1]), int(match[2]) + 1
    if not start < end <= size:
        raise Refusal(400, f"the part {text!r} is not within the file", _FORM)
    if end - start > MAX_PART_BYTES:
        raise Refusal(413, f"a part has at most {MAX_PART_BYTES} bytes", "send smaller parts")
    return start, end, size
