"""The error of this package."""


class ImageError(Exception):
    """An image cannot be built, pushed, locked or checked; one line: what, where, what next."""
