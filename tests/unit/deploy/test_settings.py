"""The first settings of an installation are ones that the controller accepts."""

from __future__ import annotations

import pytest
import yaml

from deploy.setup import SETTINGS
from rollout.settings import parse


def settings(name):
    return yaml.safe_load((SETTINGS / f"{name}.yaml").read_text())


@pytest.mark.parametrize("environment", ["local", "platform"])
def test_the_controller_can_read_them_and_releases_nothing_yet(environment):
    found = parse(settings(environment)["data"])
    assert found.git_url == ""
    assert found.plan.steps == (1, 5, 20, 50)


def test_production_keeps_the_limits_of_the_business():
    found = parse(settings("platform")["data"])
    assert (found.analysis.success, found.analysis.first_ms, found.analysis.total_ms) == (
        0.95,
        1200,
        1200,
    )
    assert found.scenario_limits is None


def test_only_the_whole_reply_may_take_longer_locally():
    limits = parse(settings("local")["data"]).scenario_limits
    assert (limits.success, limits.first_ms) == (0.95, 1200)
    assert limits.total_ms > 1200


def test_nobody_is_trusted_until_the_admin_says_so():
    trust = settings("trust")
    assert trust["data"] == {"allowed_signers": ""}
