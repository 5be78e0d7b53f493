"""The two Secrets that the controller reads: the webhook's token and the synthetic customers'."""

from __future__ import annotations

import base64
from dataclasses import dataclass

from rollout.cluster import Api, core
from rollout.errors import RolloutError
from rollout.names import Names

WEBHOOK = "webhook"
SCENARIO_TOKENS = "scenario-tokens"


class NoSecret(RolloutError):
    """A Secret or one of its keys is missing."""


@dataclass(frozen=True)
class Tokens:
    """Bearer tokens of synthetic customers."""

    api: Api
    names: Names

    def of(self, customer: str) -> str:
        """The token of one synthetic customer. Raises NoSecret."""
        return read(self.api, self.names, SCENARIO_TOKENS, customer)


def read(api: Api, names: Names, secret: str, key: str) -> str:
    """One value of a Secret in the controller's namespace. Raises NoSecret."""
    found = api.get(core(names.control, "secrets", secret))
    value = ((found or {}).get("data") or {}).get(key)
    if not value:
        raise NoSecret(
            f"Secret {secret} in {names.control} has no {key!r}: an admin runs "
            "`python -m deploy.apply`"
        )
    return base64.b64decode(value).decode().strip()
