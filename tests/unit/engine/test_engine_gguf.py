import os
import struct
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from apps.engine._strings import split
from apps.engine.digest import Digest
from apps.engine.errors import BadArtefact
from apps.engine.gguf import Gguf
from apps.engine.model import Model, default_path
from tests.unit.engine import tiny_gguf
from tests.unit.engine.tiny_gguf import Raw, gguf, tiny_metadata, tiny_tensors, write


def refusal(path: Path, data: bytes, open_it: Callable[[Path], Any] = Gguf) -> str:
    """The one line with which a file is refused."""
    with pytest.raises(BadArtefact) as caught:
        open_it(write(path, data))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def one(**changes: Any) -> dict[str, Raw]:
    """A good tensor and one that differs from it in `changes`."""
    good = Raw((2, 32), tiny_gguf.Q4_1, bytes(40))
    return {"first": good, "second": replace(good, **changes)}


def test_bytes_after_the_last_tensor_are_refused(tmp_path: Path) -> None:
    data = gguf({}, one())
    Gguf(write(tmp_path / "a.gguf", data))
    Gguf(write(tmp_path / "a.gguf", data[:-24]))  # the padding of the last may be missing
    message = refusal(tmp_path / "a.gguf", data + bytes(1))
    assert "1 bytes follow tensor 'second'" in message
    assert "bytes follow the header" in refusal(tmp_path / "a.gguf", gguf({}, {}) + bytes(1))


def test_values_come_back_as_they_were_written(tmp_path: Path) -> None:
    metadata = {"a": 7, "b": 0.5, "c": True, "d": "text é", "e": [1, 2], "f": ["x", "y"]}
    weights = np.arange(6, dtype=np.float32)
    file = Gguf(
        write(
            tmp_path / "a.gguf",
            gguf(metadata, {"w": Raw((2, 3), tiny_gguf.F32, weights.tobytes())}),
        )
    )
    numbers = file.metadata.pop("e")
    assert isinstance(numbers, np.ndarray)
    assert numbers.tolist() == metadata.pop("e")
    assert file.metadata == metadata
    assert file.tensors["w"].shape == (2, 3)
    assert (file.tensors["w"].raw.view("<f4") == weights).all()


def test_metadata_of_another_type_is_refused_by_its_key(tmp_path: Path) -> None:
    file = Gguf(write(tmp_path / "a.gguf", gguf({"a": True, "b": [1]}, {})))
    for read in (
        lambda: file.get("a", int),
        lambda: file.get("none", str),
        lambda: file.get_list("b", str),
    ):
        with pytest.raises(BadArtefact, match=r"'(a|b|none)'"):
            read()


@pytest.mark.parametrize(
    ("tensors", "complaint"),
    [
        (one(code=12), "unsupported type code 12"),
        (one(shape=()), "0 dimensions"),
        (one(shape=(1, 1, 1, 1, 32)), "5 dimensions"),
        (one(shape=(0, 32)), "impossible shape"),
        (one(shape=(2, 33)), "impossible shape"),
        (one(shape=(1 << 60, 32)), "impossible shape"),
        (one(offset=65), "not a multiple of 32"),
        (one(offset=32), "overlaps tensor 'first'"),
        (one(offset=96, data=bytes(72)), "leaves 32 bytes after tensor 'first'"),
        (one(offset=0), "overlaps tensor"),
        (one(offset=1 << 40), "ends at byte"),
        (one(offset=(1 << 64) - 32), "ends at byte"),
        (one(shape=(200, 32)), "ends at byte"),
    ],
)
def test_a_wrong_tensor_is_refused_by_name(
    tmp_path: Path, tensors: dict[str, Raw], complaint: str
) -> None:
    message = refusal(tmp_path / "a.gguf", gguf({}, tensors))
    assert "'second'" in message
    assert complaint in message


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"", "empty"),
        (b"PK\x03\x04" + bytes(40), "not a GGUF file"),
        (gguf({}, {}, version=2), "version 2"),
        (gguf({}, {}, version=0x03000000), "version 50331648"),
        (gguf({}, {}, tensor_count=1 << 60), "limit"),
        (gguf({}, {}, metadata_count=1 << 60), "limit"),
        (gguf({}, {}, metadata_count=2), "metadata"),
        (gguf({"general.alignment": 12}, {}), "general.alignment"),
        (gguf({"general.alignment": "x"}, {}), "general.alignment"),
        (gguf({"k": [1]}, {}).replace(struct.pack("<Q", 1) + b"k", b"\xff" * 8 + b"k"), "key"),
    ],
)
def test_an_alien_header_is_refused(tmp_path: Path, data: bytes, complaint: str) -> None:
    assert complaint in refusal(tmp_path / "a.gguf", data)


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (gguf({"ka": 1, "kb": 2}, {}).replace(b"kb", b"ka"), "'ka' is there twice"),
        (gguf({}, {"ta": one()["first"], "tb": one()["first"]}).replace(b"tb", b"ta"), "twice"),
        (gguf({"kkk": 1}, {}).replace(b"kkk", b"\xff\xfe\xfd"), "UTF-8"),
        (gguf({"k": [[1]]}, {}), "unknown value type 9"),
        (gguf({"k": 1}, {}).replace(b"k\x04\0\0\0", b"k\x63\0\0\0"), "unknown value type 99"),
    ],
)
def test_doubled_names_bad_strings_and_nested_arrays_are_refused(
    tmp_path: Path, data: bytes, complaint: str
) -> None:
    assert complaint in refusal(tmp_path / "a.gguf", data)


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (gguf({"k" * 257: 1}, {}), "257 bytes, the limit is 256"),
        (gguf({}, {"t" * 65: one()["first"]}), "65 bytes, the limit is 64"),
        (gguf({"k": [1]}, {}).replace(struct.pack("<IQ", 4, 1), b"\4\0\0\0" + b"\1" * 8), "limit"),
        (
            gguf({"k": ["s"]}, {}).replace(struct.pack("<IQ", 8, 1), b"\x08\0\0\0" + b"\1" * 8),
            "limit",
        ),
        (gguf({"k": True}, {}).replace(b"\7\0\0\0\1", b"\7\0\0\0\2"), "neither true nor false"),
        (
            gguf({"k": [True]}, {}).replace(
                struct.pack("<IQ", 7, 1) + b"\1", struct.pack("<IQ", 7, 1) + b"\3"
            ),
            "neither",
        ),
    ],
)
def test_absurd_lengths_and_values_are_refused(tmp_path: Path, data: bytes, complaint: str) -> None:
    assert complaint in refusal(tmp_path / "a.gguf", data)


@pytest.mark.parametrize(
    "strings",
    [
        ["plain", "words"],
        [f"{number:x}" * (number % 70) for number in range(3000)],
        ["", "an empty one before"],
        ["long " * 60, "short"],
        ["with\0NUL", "\0\0\0\0\0\0\0\0\0"],
        ["new\nline", "é医😀"],
        ["x"],
    ],
)
def test_an_array_of_any_strings_comes_back(tmp_path: Path, strings: list[str]) -> None:
    metadata = {"before": 1, "strings": strings, "after": "\0\0\0\0\0\0\0\0\1"}
    file = Gguf(write(tmp_path / "a.gguf", gguf(metadata, {"w": one()["first"]})))
    assert file.metadata == metadata
    assert file.get_list("strings", str) == strings


@pytest.mark.parametrize("where", [0, 1, 1999])
def test_a_string_of_an_array_that_is_not_utf8_is_refused_by_its_number(
    tmp_path: Path, where: int
) -> None:
    strings = ["word"] * 2000
    strings[where] = "here"
    data = gguf({"k": strings}, {}).replace(b"here", b"h\xffre")
    assert f"'k', value {where} is not UTF-8" in refusal(tmp_path / "a.gguf", data)


def test_random_bytes_for_strings_are_read_as_one_by_one() -> None:
    draw, read = np.random.default_rng(9), 0
    for _ in range(3000):
        lengths = draw.choice(
            [0, 1, 2, 9, 255, 256, 1 << 40], 6, p=[0.1, 0.3, 0.3, 0.2, 0.04, 0.03, 0.03]
        )
        data = b"".join(
            struct.pack("<Q", n)
            + draw.choice([0, 65, 200], min(int(n), 300), p=[0.02, 0.96, 0.02])
            .astype(np.uint8)
            .tobytes()
            for n in lengths
        )
        found = split(data, 5)
        if found:
            strings, size = found
            again = b"".join(struct.pack("<Q", len(one.encode())) + one.encode() for one in strings)
            assert again == data[:size]
            assert len(strings) == 5
            read += 1
    assert read > 300


def test_a_pipe_is_refused_without_waiting_for_a_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, Path("/dev/zero")):
        with pytest.raises(BadArtefact, match="not a regular file"):
            Gguf(path)


@pytest.mark.parametrize("left", [0, 3, 30, 2000, 20_000])
def test_a_file_that_shrinks_while_it_is_read_is_refused(
    tmp_path: Path, tiny_path: Path, left: int
) -> None:
    path = write(tmp_path / "a.gguf", tiny_path.read_bytes())

    def shrink(descriptor: int, _: str) -> Digest:
        os.truncate(path, left)
        return Digest(b"", 0)

    with pytest.raises(BadArtefact, match=r"shrank|cannot be mapped|changed"):
        Gguf(path, shrink)


def test_a_file_that_is_written_to_while_it_is_read_is_refused(
    tmp_path: Path, tiny_path: Path
) -> None:
    path = write(tmp_path / "a.gguf", tiny_path.read_bytes())

    def touch(descriptor: int, _: str) -> Digest:
        os.utime(path, (1, 1))
        return Digest(b"", 0)

    with pytest.raises(BadArtefact, match="changed while it was read"):
        Gguf(path, touch)


@pytest.mark.parametrize("where", ["", "missing.gguf"])
def test_a_path_that_is_no_file_is_refused(tmp_path: Path, where: str) -> None:
    with pytest.raises(BadArtefact, match=r"give the path"):
        Gguf(tmp_path / where)


def test_every_truncation_of_a_model_is_refused(tmp_path: Path, tiny_path: Path) -> None:
    data = tiny_path.read_bytes()
    for length in {*range(0, len(data), 97), *range(200), len(data) - 1}:
        refusal(tmp_path / "cut.gguf", data[:length], Model.open)


def test_a_flipped_byte_of_the_header_never_escapes_as_another_error(
    tmp_path: Path, tiny_path: Path
) -> None:
    data = bytearray(tiny_path.read_bytes())
    random = np.random.default_rng(5)
    header = data.find(b"output_norm.weight") + 60
    for _ in range(1500):
        place, mask = int(random.integers(header)), int(random.integers(1, 256))
        data[place] ^= mask
        with suppress(BadArtefact):
            Model.open(write(tmp_path / "flipped.gguf", bytes(data)))
        data[place] ^= mask


def changed(**changes: Any) -> bytes:
    metadata = tiny_metadata() | {key.replace("__", "."): item for key, item in changes.items()}
    return gguf(metadata, tiny_tensors())


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (changed(general__architecture="gpt2"), "architecture 'gpt2'"),
        (changed(llama__block_count=3), "'blk.2."),
        (changed(llama__block_count=0), "'llama.block_count' is 0"),
        (changed(llama__block_count=1 << 20), "'llama.block_count' is 1048576, but there are 20"),
        (changed(llama__embedding_length=128), "shape"),
        (changed(llama__attention__head_count_kv=3), "3 KV heads"),
        (changed(tokenizer__ggml__model="t5"), "tokeniser 't5'"),
        (changed(tokenizer__ggml__pre="qwen2"), "'qwen2'"),
        (changed(tokenizer__ggml__token_type=[1]), "1 token types"),
        (changed(tokenizer__ggml__merges=["q q"]), "merge 0"),
        (
            gguf(tiny_metadata(), tiny_tensors() | {"rope_freq.weight": one()["first"]}),
            "'rope_freq.weight' is unknown",
        ),
        (
            gguf(tiny_metadata(), tiny_tensors() | {"output_norm.weight": one()["first"]}),
            "output_n",
        ),
    ],
)
def test_a_file_that_is_not_this_graph_is_refused(
    tmp_path: Path, data: bytes, complaint: str
) -> None:
    assert complaint in refusal(tmp_path / "a.gguf", data, Model.open)


def test_the_packaged_model_is_the_one_that_was_measured(packaged: Model) -> None:
    config = packaged.config
    assert (config.layers, config.width, config.heads, config.kv_heads) == (30, 576, 9, 3)
    formats = [tensor.format.name for tensor in packaged.file.tensors.values()]
    assert [formats.count(name) for name in ("Q4_1", "F32", "Q8_0")] == [210, 61, 1]
    assert packaged.tied


def test_a_model_can_be_chosen_by_the_environment(
    monkeypatch: pytest.MonkeyPatch, tiny_path: Path
) -> None:
    monkeypatch.setenv("ENGINE_MODEL", str(tiny_path))
    assert default_path() == tiny_path
