"""The demo's changes are patches of our own sources: each must still apply."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CHANGES = ROOT / "tests" / "demo" / "changes"
# What a change stands on besides this tree.
AFTER = {"wrong.patch": ["good.patch"]}


@pytest.mark.parametrize("name", sorted(path.name for path in CHANGES.glob("*.patch")))
def test_each_change_of_the_demo_applies_to_the_sources(name, tmp_path):
    for patch in [*AFTER.get(name, []), name]:
        for line in (CHANGES / patch).read_text().splitlines():
            if line.startswith("--- a/"):
                source = line.removeprefix("--- a/")
                target = tmp_path / source
                if not target.exists():
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes((ROOT / source).read_bytes())
        done = subprocess.run(
            ["git", "apply", "--verbose", str(CHANGES / patch)],
            cwd=tmp_path, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert "Skipped" not in done.stderr
