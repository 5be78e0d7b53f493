"""Fixtures of the tests that look at pages with a real Chromium."""

from tests.fixtures.browser import browser
from tests.fixtures.postgres import postgres, running_postgres
from tests.fixtures.tickets import running_tickets, tickets

__all__ = ["browser", "postgres", "running_postgres", "running_tickets", "tickets"]
