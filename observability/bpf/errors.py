"""What can be wrong with a node; one line each, with what to do next."""


class TraceError(Exception):
    """The node cannot trace, or not this; one line."""
