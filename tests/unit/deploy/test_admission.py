"""The admission policies name the same things as the lint and the Roles, and hinder nobody else."""

from __future__ import annotations

import re

import pytest

from rollout.lane_rules import PARTS, REHEARSAL_PARTS
from rollout.marks import DIGITS
from rollout.names import LANES, STAGING
from rollout.rules import MARKS

POLICY, BINDING = "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"


@pytest.fixture(scope="module")
def policies(rendered):
    return {one["metadata"]["name"]: one["spec"] for one in of_kind(rendered, POLICY)}


@pytest.fixture(scope="module")
def bindings(rendered):
    return {one["spec"]["policyName"]: one["spec"] for one in of_kind(rendered, BINDING)}


def of_kind(rendered, kind):
    return [one for one in rendered["platform"] if one["kind"] == kind]


def test_every_policy_is_bound_and_denies(policies, bindings):
    assert policies.keys() == bindings.keys()
    assert {tuple(one["validationActions"]) for one in bindings.values()} == {("Deny",)}


def test_every_policy_is_about_the_controller_only(rendered, policies):
    (account,) = [
        one["metadata"]
        for one in of_kind(rendered, "ServiceAccount")
        if one["metadata"]["name"] == "rollout"
    ]
    name = f"system:serviceaccount:{account['namespace']}:{account['name']}"
    conditions = {str(one["matchConditions"]) for one in policies.values()}
    (only,) = next(iter(policies.values()))["matchConditions"]
    assert len(conditions) == 1
    assert only["expression"] == f"request.userInfo.username == '{name}'"


def test_a_denial_is_told_from_a_test_that_did_not_hold_and_says_why(policies):
    for spec in policies.values():
        for one in spec["validations"]:
            assert one["reason"] == "Forbidden"
            assert one.get("message") or one.get("messageExpression")


def test_a_rule_that_asks_another_object_never_stops_an_admin(policies, bindings):
    """The API server looks that object up before it asks whose write it is."""
    asking = {name for name, spec in policies.items() if "paramKind" in spec}
    assert asking == {name for name, spec in bindings.items() if "paramRef" in spec}
    for name in asking:
        assert policies[name]["failurePolicy"] == "Ignore"
        assert bindings[name]["paramRef"]["parameterNotFoundAction"] == "Allow"
        assert "namespaceSelector" in bindings[name]["matchResources"]
    for name in policies.keys() - asking:
        assert policies[name]["failurePolicy"] == "Fail"


@pytest.mark.parametrize(
    ("namespace", "parts", "lanes"),
    [("switchyard", PARTS, LANES), ("switchyard-staging", REHEARSAL_PARTS, (STAGING,))],
)
def test_the_parts_of_the_lint_are_those_that_the_controller_has_rights_for(
    rendered, policies, namespace, parts, lanes
):
    (role,) = [
        one for one in of_kind(rendered, "Role") if one["metadata"]["namespace"] == namespace
    ]
    named = [set(one["resourceNames"]) for one in role["rules"] if "resourceNames" in one]
    assert named == [{f"{part}-{lane}" for part in parts for lane in lanes}] * 3
    expression = policies["switchyard-rollout-services"]["validations"][0]["expression"]
    forms = re.findall(r"matches\('(.+?)'\)", expression)
    named = {f"{part}-{lane}" for part in ("lane", "more", *parts) for lane in lanes}
    allowed = {name for name in named if any(re.match(form, name) for form in forms)}
    assert allowed == {name for name in named if not re.match("more|gateway", name)}


def test_the_policies_know_every_mark_and_its_length(policies):
    text = str(policies["switchyard-rollout-marks"])
    assert all(mark in text for mark in MARKS)
    assert all(mark in str(policies["switchyard-rollout-deployments"]) for mark in MARKS)
    assert set(re.findall(r"\[0-9\]\{1,(\d+)\}", text)) == {str(DIGITS - 1), str(DIGITS)}
