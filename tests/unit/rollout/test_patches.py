"""Reading patches takes bounded work: names and layers are for a commit to write."""

from __future__ import annotations

from pathlib import Path

import pytest

from rollout import patches
from rollout.patches import MAX_LAYERS
from rollout.render import MAX_BYTES, RenderError

CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n"


def overlay(folder: Path, target: str, name: str = "x") -> Path:
    (folder / "r.yaml").write_text(CONFIG_MAP % name)
    patch = f"patches:\n- {{patch: '[]', target: {{name: '{target}'}}}}\n"
    (folder / "kustomization.yaml").write_text(f"resources: [r.yaml]\n{patch}")
    return folder


def test_a_target_that_would_never_end_when_backtracking_just_does_not_match(
    tmp_path: Path,
) -> None:
    (finding,) = patches.unmatched(overlay(tmp_path, "(a+)+$", "a" * 60 + "-"), ".")
    assert "matches no resource" in finding.what


def test_a_target_that_is_no_pattern_is_one_finding(tmp_path: Path) -> None:
    (finding,) = patches.unmatched(overlay(tmp_path, "(?=a)"), ".")
    assert "a patch's target: '(?=a)' is not a regular expression of RE2" in finding.what


def test_layers_that_double_are_not_all_read(tmp_path: Path) -> None:
    for level in range(30):
        folder = tmp_path / f"l{level}"
        folder.mkdir()
        below = f"resources: [../l{level + 1}, ../l{level + 1}/]\n" if level < 29 else "a: b\n"
        (folder / "kustomization.yaml").write_text(below)
    (finding,) = patches.unmatched(tmp_path, "l0")
    assert f"more than {MAX_LAYERS} layers" in finding.what


def test_a_name_that_gets_longer_layer_by_layer_is_remembered_once_a_layer(tmp_path: Path) -> None:
    overlay(tmp_path, "x").joinpath("kustomization.yaml").write_text("resources: [r.yaml]\n")
    below = ".."
    for level in range(40):
        folder = tmp_path / f"l{level}"
        folder.mkdir()
        (folder / "kustomization.yaml").write_text(f"resources: [{below}]\nnamePrefix: p{level}-\n")
        below = f"../l{level}"
    last = tmp_path / "l39/kustomization.yaml"
    for name, found in (("p1-p0-x", 0), ("x", 0), ("p1-x", 1)):
        patch = f"patches:\n- {{patch: '[]', target: {{name: {name}}}}}\n"
        last.write_text(f"resources: [../l38]\nnamePrefix: p39-\n{patch}")
        assert len(patches.unmatched(tmp_path, "l39")) == found


def test_a_file_that_is_too_long_is_not_read(tmp_path: Path) -> None:
    overlay(tmp_path, "x")
    (tmp_path / "r.yaml").write_text("#" * (MAX_BYTES + 1))
    (finding,) = patches.unmatched(tmp_path, ".")
    assert finding.where == "r.yaml"
    assert "longer than 1048576 bytes" in finding.what


def test_bytes_that_are_no_text_are_an_error_of_the_file(tmp_path: Path) -> None:
    overlay(tmp_path, "x")
    (tmp_path / "r.yaml").write_bytes(b"\xff\xfe\0")
    (finding,) = patches.unmatched(tmp_path, ".")
    assert (finding.code, finding.where) == ("render", "r.yaml")


def test_a_folder_that_is_not_there_is_an_error_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(RenderError, match=r"x/kustomization\.yaml: cannot be read"):
        patches._load(tmp_path / "x", "x/kustomization.yaml")
