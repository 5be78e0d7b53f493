"""What can go wrong when the manifests are applied."""

from __future__ import annotations


class ApplyError(Exception):
    """One line: what is wrong, where, and what to do next."""
