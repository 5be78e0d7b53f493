"""What a look into an image finds."""

from pathlib import Path

import pytest

from images.check import config_findings, probe, tree_findings
from images.layers.layer import PASSWD
from images.probe import modules


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/passwd").write_text("root:x:0:0::/:/bin/sh\n" + PASSWD)
    (tmp_path / "tool").write_text("x")
    (tmp_path / "tool").chmod(0o755)
    return tmp_path


def test_a_sound_image_has_no_findings(tree: Path) -> None:
    settings = {"User": "10001:10001", "Entrypoint": ["/tool"], "Env": ["PATH=/bin"]}
    assert [*config_findings(settings), *tree_findings(tree)] == []


@pytest.mark.parametrize(
    ("mode", "words"), [(0o4755, "set-id"), (0o2755, "set-id"), (0o666, "everybody")]
)
def test_a_file_that_gives_rights_away_is_named(tree: Path, mode: int, words: str) -> None:
    (tree / "tool").chmod(mode)
    (finding,) = tree_findings(tree)
    assert finding.startswith("/tool ")
    assert words in finding


def test_a_missing_passwd_entry_is_named(tree: Path) -> None:
    (tree / "etc/passwd").write_text("root:x:0:0::/:/bin/sh\n")
    assert list(tree_findings(tree)) == ["/etc/passwd knows no user 10001"]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"User": "", "Entrypoint": ["/tool"]}, "runs as root"),
        ({"User": "10001", "Entrypoint": ["/tool"]}, "runs as 10001"),
        ({"User": "10001:10001"}, "has no entry"),
        ({"User": "10001:10001", "Entrypoint": ["/t"], "Env": ["API_TOKEN=x"]}, "sets API_TOKEN"),
    ],
)
def test_a_configuration_no_pod_should_have_is_named(
    settings: dict[str, object], words: str
) -> None:
    (finding,) = config_findings(settings)
    assert words in finding


def test_an_entry_is_loaded_and_not_run() -> None:
    assert probe(["/coredns"]) == ["/coredns", "-h"]
    assert probe(["python3", "-m", "apps.gateway"])[:2] == ["python3", "-c"]


def test_the_probe_imports_modules_of_packages_and_starts_nothing(tmp_path: Path) -> None:
    for name in (
        "apps/__init__.py",
        "apps/gateway/__init__.py",
        "apps/gateway/__main__.py",
        "apps/gateway/page.py",
        "apps/loose/script.py",
        "apps/models/1/model.py",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    assert modules(tmp_path) == ["apps", "apps.gateway", "apps.gateway.page"]
