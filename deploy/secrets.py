"""The Secrets of an installation: random where absent, kept where present, never in git."""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Callable, Mapping

from rollout.render import Manifest

CUSTOMERS = ("c-1001", "c-1002", "c-1003", "c-1004", "c-1005")
SYNTHETIC = ("s-zh", "s-en")
# A lane must not hold the password that may change the schema, nor the one that may change
# documents.
LANE_KEYS = ("gateway", "assistant", "tickets", "assertion-key", "staff-token")
DATA_KEYS = ("postgres", "loader", *LANE_KEYS)

Key = tuple[str, str]
"""Namespace and name of a Secret."""
Values = Mapping[Key, Mapping[str, str]]

DATA: Key = ("switchyard-data", "data-credentials")
LANES: Key = ("switchyard", "data-credentials")
STAGING: Key = ("switchyard-staging", "data-credentials")
SCENARIOS: Key = ("switchyard-rollout", "scenario-tokens")
DEMO: Key = ("switchyard-clients", "demo-tokens")
WEBHOOK: Key = ("switchyard-rollout", "webhook")
TOKENS: Key = ("switchyard-data", "customer-tokens")
STAGING_TOKENS: Key = ("switchyard-staging", "customer-tokens")
ALL = (DATA, LANES, STAGING, SCENARIOS, DEMO, WEBHOOK, TOKENS, STAGING_TOKENS)


def wanted(existing: Values, make: Callable[[str], str]) -> dict[Key, dict[str, str]]:
    """What every Secret must hold. `make` gives the value of a key that is nowhere yet.

    The lanes' credentials follow the database's, so that one that was deleted
    comes back with the same values.
    """

    def kept(key: Key, names: tuple[str, ...]) -> dict[str, str]:
        present = existing.get(key, {})
        return {name: present.get(name) or make(name) for name in names}

    data, scenarios, demo = kept(DATA, DATA_KEYS), kept(SCENARIOS, SYNTHETIC), kept(DEMO, CUSTOMERS)
    return {
        DATA: data,
        LANES: {name: data[name] for name in LANE_KEYS},
        STAGING: kept(STAGING, DATA_KEYS),
        SCENARIOS: scenarios,
        DEMO: demo,
        WEBHOOK: kept(WEBHOOK, ("token",)),
        TOKENS: {"tokens.json": _tokens(scenarios | demo)},
        STAGING_TOKENS: {"tokens.json": _tokens(scenarios)},
    }


def random_value(name: str) -> str:
    """256 random bits as hex: fit for a URL, a header, and the assertion key (32 bytes)."""
    del name
    return secrets.token_hex(32)


def manifests(values: Values) -> list[Manifest]:
    """The Secrets as objects for the API server."""
    return [
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "type": "Opaque",
            "metadata": {"namespace": namespace, "name": name},
            "data": {key: base64.b64encode(text.encode()).decode() for key, text in data.items()},
        }
        for (namespace, name), data in values.items()
    ]


def values_of(secret: Manifest) -> dict[str, str]:
    """The decoded values of a Secret as the API server gives it."""
    return {key: base64.b64decode(text).decode() for key, text in secret.get("data", {}).items()}


def _tokens(by_customer: Mapping[str, str]) -> str:
    return json.dumps({token: customer for customer, token in sorted(by_customer.items())})
