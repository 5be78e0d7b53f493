"""What the supervisor is told by the environment."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit


class SettingsError(Exception):
    """A setting that cannot be used: one line that names it."""


@dataclass(frozen=True)
class Settings:
    """Addresses to listen on. HOST is 0.0.0.0 in a pod; metrics never leave the loopback."""

    host: str
    grpc_port: int
    health_port: int
    metrics_port: int

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> "Settings":
        """Check every variable that the models will read, so that a mistake is one line here
        and not a trace in a model's process."""
        for name, scheme in (("DATABASE_URL", "postgresql"), ("TICKETS_URL", "http")):
            value = environment.get(name, "")
            if urlsplit(value).scheme != scheme:
                raise SettingsError(f"set {name} to a {scheme}://… URL")
        _number(environment, "ENGINE_THREADS", 1, 64)
        return cls(
            host=environment.get("HOST", "127.0.0.1"),
            grpc_port=_number(environment, "GRPC_PORT", 8001),
            health_port=_number(environment, "HEALTH_PORT", 8000),
            metrics_port=_number(environment, "METRICS_PORT", 8002),
        )


def _number(environment: Mapping[str, str], name: str, default: int, most: int = 65535) -> int:
    text = environment.get(name) or str(default)
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= most):
        raise SettingsError(f"{name} is {text!r}; set it to a number from 1 to {most}")
    return int(text)
