"""What can go wrong when the assistant is run here."""


class LocalError(Exception):
    """The assistant cannot run here: one line that says what is wrong and what to do."""
