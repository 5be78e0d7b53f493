"""Which images leave the local registry: none that is named, and not the last of any."""

from pathlib import Path
from typing import Any

import pytest

from deploy.cluster import old_images
from deploy.cluster.old_images import KEPT, Pushed, collect, superfluous
from deploy.cluster.topology import Cluster
from deploy.errors import ApplyError
from images import lock

IMAGE = "gateway"


def digest(number: int) -> str:
    return f"sha256:{number:064x}"


def pushed(count: int, image: str = IMAGE) -> list[Pushed]:
    return [Pushed(image, f"tag{n}", digest(n), float(n)) for n in range(count)]


def test_the_last_pushes_of_each_image_stay() -> None:
    found = superfluous([*pushed(KEPT + 2), *pushed(KEPT, "tickets")], ())
    assert [(one.image, one.tag) for one in found] == [(IMAGE, "tag1"), (IMAGE, "tag0")]


def test_what_is_named_by_digest_or_by_tag_stays_however_old() -> None:
    found = superfluous(pushed(KEPT + 3), {digest(0), "tag2"})
    assert [one.tag for one in found] == ["tag1"]


class Asked:
    """What the API server would be asked, and its answers."""

    answers: dict[str, str]

    def run(self, *words: Any) -> str:
        return next(text for kind, text in self.answers.items() if kind in words[-2:])


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The tags that were deleted from a registry of eight pushes."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    deleted: list[str] = []
    monkeypatch.setattr(old_images, "read", lambda data: pushed(KEPT + 4))
    monkeypatch.setattr(
        old_images, "forget", lambda data, config, old: deleted.extend(one.tag for one in old)
    )
    return deleted


def test_locks_pods_and_records_name_images(
    asked: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    cluster = Asked()
    cluster.answers = {
        old_images.NAMING: f'{{"image": "registry/switchyard/gateway@{digest(0)}"}}',
        "configmaps": f'{{"record.json": "\\"gateway@{digest(1)}\\""}}',
    }
    monkeypatch.setattr(old_images, "Kubectl", lambda kubeconfig: cluster)
    (tmp_path / "images").mkdir()
    (tmp_path / lock.LOCK).write_text(f"digest: {digest(2)}\n")
    assert collect(Cluster(0, tmp_path), tmp_path, ()) == 1
    assert asked == ["tag3"]


def test_nothing_goes_when_the_cluster_cannot_be_asked(
    asked: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class Gone:
        def run(self, *words: Any) -> str:
            raise ApplyError("refused")

    monkeypatch.setattr(old_images, "Kubectl", lambda kubeconfig: Gone())
    assert collect(Cluster(0, tmp_path), tmp_path, ()) == 0
    assert asked == []
