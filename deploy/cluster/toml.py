"""Writes the TOML that containerd reads: nested tables of text, numbers, booleans and lists."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def dumps(table: Mapping[str, Any]) -> str:
    """`table` as TOML; scalars and lists of a table come before its inner tables."""
    return "".join(_lines(table, ()))


def _lines(table: Mapping[str, Any], path: tuple[str, ...]) -> list[str]:
    lines = [f"[{'.'.join(json.dumps(part) for part in path)}]\n"] if path else []
    inner = {key: value for key, value in table.items() if isinstance(value, Mapping)}
    # JSON and TOML write text, numbers, booleans and flat lists alike.
    lines += [
        f"{json.dumps(key)} = {json.dumps(table[key])}\n" for key in table if key not in inner
    ]
    for key, value in inner.items():
        lines += _lines(value, (*path, key))
    return lines
