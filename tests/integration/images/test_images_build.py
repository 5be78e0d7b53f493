"""Build, push, lock: with buildah, skopeo and a registry of our own."""

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from images.leftovers import KEPT
from images.lock import LOCK, read
from tests.integration.images.registry import free_port, serving

ROOT = Path(__file__).parents[3]
CONTAINERFILE = """\
ARG PARENT
FROM ${PARENT}
COPY page /page
USER 10001:10001
ENTRYPOINT ["/page/index.html"]
"""


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """`host:port` of an empty docker-registry."""
    with serving(tmp_path_factory.mktemp("registry")) as address:
        yield address


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache of these tests' own, so that nothing is there already."""
    folder = tmp_path_factory.mktemp("cache")
    yield folder
    shutil.rmtree(folder)


def images(*words: str, cache: Path | None = None) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **({"XDG_CACHE_HOME": str(cache)} if cache else {})}
    return subprocess.run(
        [sys.executable, "-m", "images", *words],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        timeout=900,
    )


def build(registry: str, tree: Path, cache: Path | None, *names: str) -> list[dict[str, Any]]:
    options = ("--push", "--registry", registry, "--root", str(tree), "--output", "json")
    done = images("build", *names, *options, cache=cache)
    assert done.returncode == 0, done.stderr
    built: list[dict[str, Any]] = json.loads(done.stdout)
    return built


def make_tree(root: Path, text: str) -> Path:
    folder = root / "images" / "page"
    folder.mkdir(parents=True)
    (folder / "inputs").write_text("images/page\npage\n")
    (folder / "layers").write_text("scratch\n")
    (folder / "Containerfile").write_text(CONTAINERFILE)
    (root / "page").mkdir()
    (root / "page" / "index.html").write_text(text)
    return root


def test_the_same_tree_has_the_same_digest_wherever_and_whenever(
    registry: str, cache: Path, tmp_path: Path
) -> None:
    here = make_tree(tmp_path / "here", "hello")
    (first,) = build(registry, here, cache)
    assert first["what"] == "pushed"
    there = make_tree(tmp_path / "there", "hello")
    os.utime(there / "page/index.html", (1, 1))
    (there / "page/index.html").chmod(0o600)
    (there / "page/__pycache__").mkdir()
    (other,) = build(registry, there, tmp_path / "empty cache")
    assert other["digest"] == first["digest"]
    assert (there / LOCK).read_text() == (here / LOCK).read_text()


def test_a_second_build_does_nothing_and_a_change_is_built(
    registry: str, cache: Path, tmp_path: Path
) -> None:
    tree = make_tree(tmp_path, "one")
    (first,) = build(registry, tree, cache)
    (second,) = build(registry, tree, cache)
    assert second["what"] == "unchanged"
    (tree / "page/index.html").write_text("two")
    (third,) = build(registry, tree, cache)
    assert third["what"] == "pushed"
    assert third["digest"] != first["digest"]
    assert read(tree).images["page"].digest == third["digest"]  # type: ignore[union-attr]
    (tree / "page/index.html").write_text("one")
    (fourth,) = build(registry, tree, cache)
    assert (fourth["what"], fourth["digest"]) == ("unchanged", first["digest"])
    written = (tree / LOCK).read_text()
    (tree / LOCK).unlink()
    assert images("lock", "--registry", registry, "--root", str(tree), cache=cache).returncode == 0
    assert (tree / LOCK).read_text() == written


def test_the_cache_keeps_the_last_builds_and_what_is_gone_is_built_again(
    registry: str, tmp_path: Path
) -> None:
    cache, tree = tmp_path / "cache", make_tree(tmp_path / "tree", "0")
    digests = []
    for number in range(KEPT + 3):
        (tree / "page/index.html").write_text(str(number))
        digests += [one["digest"] for one in build(registry, tree, cache)]
    assert len(in_store(cache, "page")) == KEPT
    assert len(in_store(cache, "layer")) == 1
    (tree / "page/index.html").write_text("0")
    shutil.rmtree(cache / "switchyard/images/pushed")
    (again,) = build(registry, tree, cache)
    assert (again["what"], again["digest"]) == ("pushed", digests[0])


def in_store(cache: Path, name: str) -> list[str]:
    """The tags of an image in the cache's store."""
    store = cache / "switchyard/images/containers"
    command = ["buildah", f"--root={store}", "--runroot=/run/switchyard-images"]
    listed = subprocess.run(
        [*command, "--storage-driver=overlay", "images", "--json"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    names = [name for image in json.loads(listed.stdout) for name in image["names"]]
    return [one for one in names if one.startswith(f"localhost/switchyard/{name}:")]


def test_an_image_that_the_registry_lost_is_pushed_again(
    registry: str, cache: Path, tmp_path: Path
) -> None:
    tree = make_tree(tmp_path, "lost")
    (first,) = build(registry, tree, cache)
    url = f"http://{registry}/v2/switchyard/page/manifests/{first['digest']}"
    urllib.request.urlopen(urllib.request.Request(url, method="DELETE"), timeout=10).close()
    (again,) = build(registry, tree, cache)
    assert (again["what"], again["digest"]) == ("pushed", first["digest"])


def test_lock_refuses_a_tree_that_was_not_pushed_as_it_is(
    registry: str, cache: Path, tmp_path: Path
) -> None:
    tree = make_tree(tmp_path, "before")
    build(registry, tree, cache)
    (tree / "page/index.html").write_text("after")
    refused = images("lock", "--registry", registry, "--root", str(tree), cache=cache)
    assert refused.returncode == 1
    assert "python -m images build --push" in refused.stderr
    assert refused.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        ("COPY page /page\nCOPY secret /secret\n", "secret"),
        ("COPY page /page\nRUN false\n", "RUN false"),
    ],
)
def test_a_build_that_fails_is_one_line_and_leaves_no_lock(
    registry: str, cache: Path, tmp_path: Path, broken: str, words: str
) -> None:
    tree = make_tree(tmp_path, "x")
    file = tree / "images/page/Containerfile"
    file.write_text(CONTAINERFILE.replace("COPY page /page\n", broken))
    failed = images("build", "--push", "--registry", registry, "--root", str(tree), cache=cache)
    assert failed.returncode == 1
    (line,) = failed.stderr.splitlines()
    assert line.startswith("images: page: buildah failed: ")
    assert words in line
    assert "its whole output: " in line
    assert not (tree / LOCK).exists()


def test_a_registry_that_is_not_there_is_one_line(cache: Path, tmp_path: Path) -> None:
    tree = make_tree(tmp_path, "x")
    nobody = f"127.0.0.1:{free_port()}"
    failed = images("build", "--push", "--registry", nobody, "--root", str(tree), cache=cache)
    assert failed.returncode == 1
    (line,) = failed.stderr.splitlines()
    assert line.startswith(f"images: no registry at http://{nobody}/v2/")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of this tree: nobody edits it while it is built."""
    tree = tmp_path_factory.mktemp("copy") / "checkout"
    ignored = shutil.ignore_patterns(".git", ".venv", "__pycache__", "images.lock")
    shutil.copytree(ROOT, tree, ignore=ignored)
    return tree


def test_built_images_hold_what_a_hardened_pod_expects(checkout: Path) -> None:
    """User, entry, no set-id file, and every module imports as uid 10001."""
    built = images("build", "--root", str(checkout))
    assert built.returncode == 0, built.stderr
    done = images("check", "--output", "json", "--root", str(checkout))
    assert done.returncode == 0, done.stdout + done.stderr
    assert {report["name"] for report in json.loads(done.stdout)} >= {"gateway", "pipeline"}


def test_a_changed_source_is_pushed_in_seconds_and_shares_what_lies_below(
    registry: str, checkout: Path
) -> None:
    (before,) = build(registry, checkout, None, "tickets")
    with (checkout / "apps/tickets/__init__.py").open("a") as source:
        source.write(f"\nMADE_AT = {time.time()}\n")
    began = time.monotonic()
    (after,) = build(registry, checkout, None, "tickets")
    took = time.monotonic() - began
    assert after["what"] == "pushed"
    assert took < 10
    assert layers(registry, after)[:-1] == layers(registry, before)[:-1]
    assert layers(registry, after)[-1] != layers(registry, before)[-1]


def layers(registry: str, built: dict[str, Any]) -> list[str]:
    url = f"http://{registry}/v2/switchyard/{built['name']}/manifests/{built['digest']}"
    accept = {"Accept": "application/vnd.oci.image.manifest.v1+json"}
    with urllib.request.urlopen(urllib.request.Request(url, headers=accept), timeout=10) as answer:
        return [layer["digest"] for layer in json.load(answer)["layers"]]
