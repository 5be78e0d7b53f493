"""Fixtures of all integration tests."""

from tests.fixtures.postgres import postgres, running_postgres

__all__ = ["postgres", "running_postgres"]
