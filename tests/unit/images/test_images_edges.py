"""What is read from apt, and which registries are spoken to how."""

import pytest

from images import debian, registry
from images.errors import ImageError

TARGETS = """\
Translations http://mirror.example/debian/ Debian main
Packages http://mirror.example/debian/ Debian contrib
Packages http://mirror.example/debian/ Debian main
Packages http://second.example/debian/ Debian main
Packages http://mirror.example/debian-security/ Debian-Security main
Packages https://tools.example/apt/ Tools main
"""


def test_mirrors_are_those_of_this_machines_apt() -> None:
    assert debian.parse_targets(TARGETS) == {
        "Debian": "http://mirror.example/debian/",
        "Debian-Security": "http://mirror.example/debian-security/",
    }


def test_a_machine_without_debian_says_what_to_do() -> None:
    with pytest.raises(ImageError, match=r"sources\.list\.d"):
        debian.parse_targets("Packages https://tools.example/apt/ Tools main\n")


def test_security_updates_come_with_every_suite() -> None:
    lines = debian.sources("trixie", debian.parse_targets(TARGETS))
    assert [line.split()[2] for line in lines] == ["trixie", "trixie-updates", "trixie-security"]


@pytest.mark.parametrize(
    ("name", "tls"),
    [
        ("10.203.0.2:5000", False),
        ("127.0.0.1:5999", False),
        ("localhost:5000", False),
        ("[::1]:5000", False),
        ("8.8.8.8:5000", True),
        ("registry.example.org", True),
        ("registry.example.org:5000/team", True),
        ("localhost.example.org", True),
    ],
)
def test_only_a_private_address_is_spoken_to_in_the_clear(name: str, tls: bool) -> None:
    assert registry.uses_tls(name) is tls


def test_the_option_goes_before_the_environment_before_the_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("REGISTRY", raising=False)
    assert registry.chosen(None) == registry.DEFAULT
    monkeypatch.setenv("REGISTRY", "registry.example.org/team")
    assert registry.chosen(None) == "registry.example.org/team"
    assert registry.chosen("127.0.0.1:5999") == "127.0.0.1:5999"


@pytest.mark.parametrize("name", ["http://10.0.0.1:5000", "10.0.0.1:5000/"])
def test_a_registry_is_a_host_and_not_a_url(name: str) -> None:
    with pytest.raises(ImageError, match="without scheme"):
        registry.chosen(name)
