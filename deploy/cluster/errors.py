"""Errors of the local cluster: each is one line that says what to do next."""


class ClusterError(Exception):
    """The cluster cannot do what was asked; the text is for the person who asked."""
