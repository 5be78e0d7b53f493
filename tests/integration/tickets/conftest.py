"""Fixtures of the ticket service's tests."""

from tests.fixtures.tickets import running_tickets, start_tickets, tickets

__all__ = ["running_tickets", "start_tickets", "tickets"]
