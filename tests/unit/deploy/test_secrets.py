"""Secrets: made once at random, kept afterwards, and never more than a namespace needs."""

from __future__ import annotations

import json
from itertools import count

from deploy import secrets


def maker():
    numbers = count()
    return lambda name: f"{name}-{next(numbers)}"


def test_an_empty_cluster_gets_every_secret():
    assert set(secrets.wanted({}, maker())) == set(secrets.ALL)


def test_a_second_run_changes_nothing():
    first = secrets.wanted({}, maker())
    assert secrets.wanted(first, maker()) == first


def test_a_key_that_is_new_is_added_and_the_others_are_kept():
    first = secrets.wanted({}, lambda name: f"old-{name}")
    del first[secrets.DATA]["staff-token"]
    again = secrets.wanted(first, lambda name: f"new-{name}")
    assert again[secrets.DATA]["staff-token"] == "new-staff-token"
    assert again[secrets.DATA]["gateway"] == "old-gateway"


def test_the_lanes_follow_the_database_when_their_secret_is_lost():
    first = secrets.wanted({}, maker())
    del first[secrets.LANES]
    assert (
        secrets.wanted(first, maker())[secrets.LANES]["gateway"] == first[secrets.DATA]["gateway"]
    )


def test_the_lanes_do_not_hold_the_superusers_password():
    assert "postgres" not in secrets.wanted({}, maker())[secrets.LANES]


def test_a_rehearsal_shares_no_password_with_production():
    made = secrets.wanted({}, maker())
    assert not set(made[secrets.STAGING].values()) & set(made[secrets.DATA].values())


def test_the_database_knows_every_customers_token_and_the_rehearsal_only_synthetic_ones():
    made = secrets.wanted({}, maker())
    everyone = set(json.loads(made[secrets.TOKENS]["tokens.json"]).values())
    assert everyone == {*secrets.CUSTOMERS, *secrets.SYNTHETIC}
    rehearsal = json.loads(made[secrets.STAGING_TOKENS]["tokens.json"])
    assert set(rehearsal.values()) == set(secrets.SYNTHETIC)
    assert set(rehearsal) == set(made[secrets.SCENARIOS].values())


def test_a_secret_survives_the_way_to_the_api_server_and_back():
    values = {("space", "name"): {"key": "väl:ue/+="}}
    (manifest,) = secrets.manifests(values)
    assert secrets.values_of(manifest) == values["space", "name"]


def test_random_values_are_256_bits_and_differ():
    one, other = secrets.random_value("a"), secrets.random_value("a")
    assert one != other
    assert len(bytes.fromhex(one)) == 32
