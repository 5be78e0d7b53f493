"""The head of an upload's part: what is taken and what each mistake is told."""

import pytest

from apps.gateway.part import MAX_PART_BYTES, Part, read_part
from apps.gateway.refusal import Refusal

GOOD = {
    "content-type": "application/pdf",
    "upload-name": "%E5%8C%96%E9%AA%8C%E5%8D%95.pdf",
    "upload-sha256": "ab" * 32,
    "content-range": "bytes 100-299/1000",
}


def test_a_part_is_read() -> None:
    assert read_part(GOOD) == Part("化验单.pdf", b"\xab" * 32, 1000, 100, 300)


def test_a_range_without_bytes_asks_how_far_the_file_is() -> None:
    part = read_part({**GOOD, "content-range": "bytes */1000"})
    assert (part.start, part.size) == (None, 1000)


@pytest.mark.parametrize(
    ("name", "value", "http", "words"),
    [
        ("content-type", "text/plain", 415, "not PDF"),
        ("content-encoding", "gzip", 415, "compressed"),
        ("upload-name", "", 400, "Upload-Name"),
        ("upload-name", "a.exe", 400, "Upload-Name"),
        ("upload-name", "..%2Fetc%2Fa.pdf", 400, "Upload-Name"),
        ("upload-name", ".pdf", 400, "Upload-Name"),
        ("upload-name", "%ff.pdf", 400, "Upload-Name"),
        ("upload-name", "a%00b.pdf", 400, "Upload-Name"),
        ("upload-name", "a" * 300 + ".pdf", 400, "Upload-Name"),
        ("upload-sha256", "xy", 400, "SHA-256"),
        ("content-range", "", 400, "Content-Range"),
        ("content-range", "bytes 0-9", 400, "Content-Range"),
        ("content-range", "bytes 0-9/*", 400, "Content-Range"),
        ("content-range", "bytes 9-0/10", 400, "not within"),
        ("content-range", "bytes 0-10/10", 400, "not within"),
        ("content-range", "bytes 0-9/0", 413, "1 to"),
        ("content-range", "bytes 0-9/999999999999", 413, "1 to"),
        ("content-range", f"bytes 0-{MAX_PART_BYTES}/9999999", 413, "at most"),
    ],
)
def test_what_is_wrong_is_said(name: str, value: str, http: int, words: str) -> None:
    with pytest.raises(Refusal, match=words) as caught:
        read_part({**GOOD, name: value})
    assert caught.value.http == http
    assert caught.value.do
