"""The cache of builds is bounded: the last of each image stay, with the layers below them."""

import os
import time
from pathlib import Path

import pytest

from images import cache, leftovers, store
from images.leftovers import KEPT, Use, wanted


def use(name: str, key: str, at: float, *layers: str) -> Use:
    return Use(name, key, layers, at)


def test_the_last_builds_of_each_image_stay_with_their_layers() -> None:
    uses = [use("gateway", f"g{n}", n, "base", f"wheels{n}") for n in range(KEPT + 2)]
    uses.append(use("tickets", "t0", 0, "other"))
    expected = {f"localhost/switchyard/gateway:g{n}" for n in range(2, KEPT + 2)}
    expected |= {f"localhost/switchyard/layer:wheels{n}" for n in range(2, KEPT + 2)}
    expected |= {"localhost/switchyard/layer:base"}
    expected |= {"localhost/switchyard/tickets:t0", "localhost/switchyard/layer:other"}
    assert wanted(uses) == expected


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(store, "stored", set)
    monkeypatch.setattr(store, "remove", lambda images: None)
    return cache.folder()


def pushed(folder: Path, registry: str, key: str, days: float) -> Path:
    file = folder / "pushed" / registry / "gateway" / f"{key}.json"
    cache.write(file, "{}")
    at = time.time() - days * 86400
    os.utime(file, (at, at))
    return file


def test_records_of_pushes_go_when_nobody_asked_for_them_in_30_days(folder: Path) -> None:
    old, young = pushed(folder, "here:5000", "a", 31), pushed(folder, "here:5000", "b", 29)
    gone = pushed(folder, "nowhere:1", "a", 31)
    assert leftovers.forget() == 0
    assert (old.exists(), young.exists()) == (False, True)
    assert not gone.parent.parent.exists()


def test_what_a_killed_build_left_is_cleared_by_the_next(folder: Path) -> None:
    for left in ("context-abc/file", "tmp/mmdebstrap.abc/file"):
        cache.write(folder / left, "x")
    (folder / "tmp" / "link").symlink_to("/etc")
    kept = folder / "pushed" / "record"
    cache.write(kept, "x")
    with cache.held(print):
        assert sorted(path.name for path in folder.iterdir()) == ["lock", "pushed", "tmp"]
        assert list((folder / "tmp").iterdir()) == []
    assert kept.exists()


def test_nothing_is_cleared_that_something_is_mounted_in(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = folder / "tmp" / "mmdebstrap.abc"
    cache.write(tree / "dev" / "null", "x")
    read = Path.read_text
    mounted = f"30 1 0:6 /null {tree}/dev/null rw - devtmpfs devtmpfs rw\n"
    monkeypatch.setattr(
        Path, "read_text", lambda path: mounted if "mountinfo" in path.name else read(path)
    )
    with cache.held(print):
        assert (tree / "dev" / "null").exists()


def test_a_cache_is_idle_while_nobody_builds_in_it(folder: Path) -> None:
    with cache.idle() as idle:
        assert idle
    with cache.held(print), cache.idle() as idle:
        assert not idle
