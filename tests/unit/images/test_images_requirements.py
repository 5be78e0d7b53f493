"""Every image's lock: hashed, of the project's versions, and silent about where it came from."""

import re
from pathlib import Path

import pytest

from images.layers.wheels import requirements
from images.recipe import names
from images.requirements import APART, constraints, python_of

ROOT = Path(__file__).parents[3]
WITH_PACKAGES = [name for name in names(ROOT) if python_of(ROOT, name)]
COMMON = requirements((ROOT / "requirements.lock").read_text())


def version(entry: str) -> str:
    return entry.split("==", 1)[1].split()[0]


@pytest.fixture(params=WITH_PACKAGES)
def image(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def locked(image: str) -> dict[str, str]:
    return requirements((ROOT / "images" / image / "requirements.lock").read_text())


def test_an_image_runs_the_versions_that_were_tested(image: str) -> None:
    apart = APART.get(image, ())
    differing = {
        name
        for name, entry in locked(image).items()
        if name not in COMMON or version(entry) != version(COMMON[name])
    }
    assert differing == set(apart)


def test_every_package_has_a_hash(image: str) -> None:
    for name, entry in locked(image).items():
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", entry), name


def test_a_lock_names_no_host(image: str) -> None:
    text = (ROOT / "images" / image / "requirements.lock").read_text()
    assert "://" not in text
    assert "index" not in text


def test_the_images_that_need_numpy_one_have_it() -> None:
    assert version(locked("pipeline")["numpy"]).startswith("1.26.")
    assert version(locked("gateway")["numpy"]).startswith("2.")


def test_constraints_leave_out_what_goes_its_own_way() -> None:
    hashed = " \\\n    --hash=sha256:aa\n"
    lock = f"numpy==1.26.4{hashed}Jinja2==3.1.6{hashed}    # via x\n"
    assert constraints(lock, ()) == "numpy==1.26.4\nJinja2==3.1.6\n"
    assert constraints(lock, ("numpy",)) == "Jinja2==3.1.6\n"


def test_an_entry_keeps_all_its_hashes_and_no_comment() -> None:
    lock = "typing_extensions==4.1 \\\n    --hash=sha256:aa \\\n    --hash=sha256:bb\n    # via x\n"
    assert requirements(lock) == {
        "typing-extensions": lock.split("    # via")[0],
    }
