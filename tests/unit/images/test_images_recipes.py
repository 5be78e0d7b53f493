"""The images of this tree, and what a recipe makes of its folder."""

import ast
from pathlib import Path

import pytest

from images.errors import ImageError
from images.inputs import entries_of_tree, is_below, parse_inputs
from images.layers.built import made_layer
from images.layers.layer import Layer
from images.recipe import MAKING, Recipe, names, recipe

ROOT = Path(__file__).parents[3]
NAMES = names(ROOT)
OURS = ("apps", "images", "rollout", "deploy", "observability")
MAKER = """
import sys
from pathlib import Path
from other import TEXT
out = Path(sys.argv[sys.argv.index("--out") + 1])
if out.suffix:
    out.write_text(TEXT)
else:
    out.mkdir()
    (out / "file").write_text(TEXT)
"""


def inputs(image: str) -> list[str]:
    return parse_inputs((ROOT / "images" / image / "inputs").read_text())


def test_every_image_of_the_product_is_here() -> None:
    assert {
        *("gateway", "loader", "network-policies", "pipeline", "postgres"),
        *("rollout", "split-dns", "tickets", "tracing"),
    } == set(NAMES)


@pytest.mark.parametrize("image", NAMES)
def test_an_image_is_decided_by_its_own_folder_and_its_base(image: str) -> None:
    chosen = inputs(image)
    assert f"images/{image}" in chosen
    assert set(MAKING) <= set(chosen)
    lines = (ROOT / "images" / image / "layers").read_text().splitlines()
    for kind, *words in map(str.split, lines):
        if kind == "base":
            assert f"images/{words[0]}" in chosen
        if kind == "binary":
            assert f"deploy/cluster/{words[0]}" in chosen
        if kind in ("made", "trained"):
            assert all(is_below(path, chosen) for path in (words[0], *words[2:]))


@pytest.mark.parametrize("image", NAMES)
def test_no_overlay_and_no_lock_decides_an_image(image: str) -> None:
    generated = ("images/images.lock", "deploy/components", "deploy/overlays", "deploy/base")
    assert not [path for path in generated if is_below(path, inputs(image))]


def imported(file: Path) -> set[str]:
    """Names of our own modules that a file imports, each as far as `import` names it."""
    found = set()
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in found if name.split(".", 1)[0] in OURS}


def source(name: str) -> str | None:
    """The file of a module, or of the module that a name is imported from."""
    parts = name.split(".")
    for length in (len(parts), len(parts) - 1):
        path = "/".join(parts[:length])
        for candidate in (f"{path}.py", f"{path}/__init__.py"):
            if (ROOT / candidate).is_file():
                return candidate
    return None


def missing(chosen: list[str]) -> dict[str, str]:
    """The files of ours that what is `chosen` imports and that are not, and who imports them."""
    found = {}
    for entry in entries_of_tree(ROOT, chosen):
        # What makes images runs in none of them.
        if entry.path.endswith(".py") and not is_below(entry.path, MAKING):
            for name in imported(ROOT / entry.path):
                file = source(name)
                if file and not is_below(file, chosen):
                    found[file] = entry.path
    return found


@pytest.mark.parametrize("image", NAMES)
def test_whatever_an_image_imports_of_ours_is_among_its_inputs(image: str) -> None:
    assert not missing(inputs(image))


@pytest.mark.parametrize("image", NAMES)
def test_whatever_makes_a_layer_is_in_its_key(image: str) -> None:
    lines = (ROOT / "images" / image / "layers").read_text().splitlines()
    for kind, package, *words in (line.split() for line in lines if " " in line):
        if kind in ("made", "trained"):
            assert not missing([package, *words[1:]])


@pytest.mark.parametrize("image", NAMES)
def test_an_image_runs_as_nobody_special_and_fetches_nothing(image: str) -> None:
    lines = (ROOT / "images" / image / "Containerfile").read_text().splitlines()
    assert lines[:2] == ["ARG PARENT", "FROM ${PARENT}"]
    assert "USER 10001:10001" in lines
    assert not [line for line in lines if line.startswith("ADD ") or "http" in line]
    assert any(line.startswith("ENTRYPOINT [") for line in lines)


def layer(key: str) -> Layer:
    return Layer("a layer", key, "FROM scratch\n", lambda context: None)


def test_a_layers_key_changes_with_the_layers_below_it_only() -> None:
    before = Recipe("x", [], "0", [layer("a"), layer("b"), layer("c")], "")
    after = Recipe("x", [], "0", [layer("a"), layer("B"), layer("c")], "")
    kept = [one == two for one, two in zip(before.layer_keys(), after.layer_keys(), strict=True)]
    assert kept == [True, False, False]


def test_sources_change_the_image_and_none_of_its_layers() -> None:
    before, after = (Recipe("x", [], digest, [layer("a")], "") for digest in ("0", "1"))
    assert before.layer_keys() == after.layer_keys()
    assert before.key() != after.key()


def folder(root: Path, layers: str) -> Path:
    image = root / "images" / "x"
    image.mkdir(parents=True)
    (image / "inputs").write_text("images/x\n")
    (image / "layers").write_text(layers)
    (image / "Containerfile").write_text("ARG PARENT\nFROM ${PARENT}\n")
    return root


@pytest.mark.parametrize("layers", ["python\n", "wheel x\n", "binary x\n", "scratch\nmagic\n", ""])
def test_a_layer_that_cannot_stand_there_is_named(tmp_path: Path, layers: str) -> None:
    with pytest.raises(ImageError, match="images/x/layers: "):
        recipe(folder(tmp_path, layers), "x")


def test_an_unknown_image_is_answered_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ImageError, match=r"image y: .*images of this tree: x\)"):
        recipe(folder(tmp_path, "scratch\n"), "y")


@pytest.fixture
def maker(tmp_path: Path) -> Path:
    """A tree with a package that makes something, and a folder `context` for it."""
    (tmp_path / "maker").mkdir()
    (tmp_path / "maker" / "__main__.py").write_text(MAKER)
    (tmp_path / "other.py").write_text("TEXT = 'text'\n")
    (tmp_path / "context").mkdir()
    return tmp_path


@pytest.mark.parametrize(("result", "file"), [("result", "result/file"), ("one.so", "one.so")])
def test_what_is_made_here_is_readable_whatever_made_it(
    maker: Path, result: str, file: str
) -> None:
    layer = made_layer(maker, "maker", f"/opt/{result}", ["other.py"])
    context = maker / "context"
    layer.prepare(context)
    assert (context / file).read_text() == "text"
    assert (context / file).stat().st_mode & 0o777 == 0o644
    assert f"COPY {result} /opt/{result}" in layer.containerfile


@pytest.mark.parametrize("changed", ["maker/__main__.py", "other.py"])
def test_what_is_made_here_is_made_again_when_a_source_changes(maker: Path, changed: str) -> None:
    before = made_layer(maker, "maker", "/opt/result", ["other.py"])
    with (maker / changed).open("a") as file:
        file.write("# changed\n")
    assert made_layer(maker, "maker", "/opt/result", ["other.py"]).key != before.key
