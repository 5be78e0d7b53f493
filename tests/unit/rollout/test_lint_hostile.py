"""What a hostile commit tries is found by the lint; tests/cluster asks the API server the same."""

from __future__ import annotations

import copy

import pytest

from rollout.lint import lint
from rollout.render import render
from tests.hostile import HOSTILE, attempt
from tests.tree import copy_deploy


@pytest.fixture(scope="module")
def rendered(tmp_path_factory):
    return render(copy_deploy(tmp_path_factory.mktemp("hostile")), "deploy/overlays/prod/blue")


@pytest.mark.parametrize("one", HOSTILE, ids=lambda one: f"{one.kind} {one.what}")
def test_a_hostile_change_is_found_with_a_line_that_says_what(rendered, one):
    objects = copy.deepcopy(rendered)
    attempt(objects, one, "blue", "green")
    lines = [str(finding) for finding in lint(objects, "prod")]
    assert any(one.found in line for line in lines), lines
    assert all("\n" not in line for line in lines)
