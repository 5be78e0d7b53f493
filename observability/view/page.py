"""The diagnostic page."""

from observability.session.session import Loss, Session


def page(session: Session, loss: Loss) -> str:
    """The HTML text."""
    return f"{len(session.requests)} requests, {loss}"
