"""What the gateway is told by the environment."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from apps.retrieval.assertion import BadAssertion, key_from_hex

LANES = ("blue", "green", "staging", "local")
_ADDRESS = re.compile(r"[A-Za-z0-9.-]{1,253}:[0-9]{1,5}", re.ASCII)
_HOST = r"[A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\]"
_URL = re.compile(rf"http://(?:{_HOST})(?::[0-9]{{1,5}})?(?:/[\w./-]{{0,200}})?", re.ASCII)


class BadSettings(ValueError):
    """A variable that is missing or wrong; one line with the remedy."""


@dataclass(frozen=True)
class Settings:
    """All settings; times in seconds, `assertion_key` 32 bytes, never shown in repr."""

    lane: str
    host: str
    port: int
    admin_port: int
    pipeline_address: str
    database_url: str
    assertion_key: bytes
    answer_max_tokens: int
    answer_streams: int
    max_in_flight: int
    deadline_s: float
    lame_duck_s: float
    ring: Path | None
    release: str
    gpu_state_url: str | None

    def __repr__(self) -> str:
        return f"Settings(lane={self.lane!r}, host={self.host!r}, port={self.port})"


def read(environment: Mapping[str, str] = os.environ) -> Settings:
    """Read and check every variable. Raises BadSettings."""
    lane = environment.get("LANE", "local")
    if lane not in LANES:
        raise BadSettings(f"LANE is {lane!r}; set it to one of {', '.join(LANES)}")
    address = environment.get("PIPELINE_ADDRESS") or f"pipeline-{lane}:8001"
    if not _ADDRESS.fullmatch(address):
        raise BadSettings(f"PIPELINE_ADDRESS is {address!r}; write host:port")
    try:
        key = key_from_hex(_required(environment, "ASSERTION_KEY"))
    except BadAssertion as error:
        raise BadSettings(str(error)) from None
    return Settings(
        lane=lane,
        host=environment.get("HOST") or "127.0.0.1",
        port=int(_number(environment, "PORT", 8080, 0, 65535)),
        admin_port=int(_number(environment, "ADMIN_PORT", 8081, 0, 65535)),
        pipeline_address=address,
        database_url=_required(environment, "DATABASE_URL"),
        assertion_key=key,
        answer_max_tokens=int(_number(environment, "ANSWER_MAX_TOKENS", 48, 1, 512)),
        answer_streams=int(_number(environment, "ANSWER_STREAMS", 4, 1, 1024)),
        max_in_flight=int(_number(environment, "MAX_IN_FLIGHT", 128, 1, 4096)),
        deadline_s=_number(environment, "DEADLINE_S", 20, 1, 300),
        lame_duck_s=_number(environment, "LAME_DUCK_S", 3, 0, 60),
        ring=Path(environment["REQUESTS_RING"]) if environment.get("REQUESTS_RING") else None,
        release=environment.get("RELEASE", "")[:64],
        gpu_state_url=_url(environment, "GPU_STATE_URL"),
    )


def _required(environment: Mapping[str, str], name: str) -> str:
    value = environment.get(name, "")
    if not value:
        raise BadSettings(f"{name} is not set; set it in the environment")
    return value


def _url(environment: Mapping[str, str], name: str) -> str | None:
    text = environment.get(name, "")
    if text and not (_URL.fullmatch(text) and _has_a_port(text)):
        raise BadSettings(f"{name} is {text[:100]!r}; write http://host:port/path, or leave it out")
    return text or None


def _has_a_port(url: str) -> bool:
    try:
        return urlsplit(url).port != 0
    except ValueError:
        return False


def _number(
    environment: Mapping[str, str], name: str, default: float, least: float, most: float
) -> float:
    text = environment.get(name) or str(default)
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not least <= value <= most:
        raise BadSettings(f"{name} is {text!r}; set a number from {least:g} to {most:g}")
    return value
