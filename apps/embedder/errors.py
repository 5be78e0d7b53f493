"""What can go wrong in the embedder: each message is one line and says what to do next."""


class EmbedderError(Exception):
    """Base of every error that the embedder raises on purpose."""


class BadModel(EmbedderError):
    """The model cannot be built, found or computed with."""


class BadText(EmbedderError):
    """A text without anything to embed."""


class Busy(EmbedderError):
    """More was asked for at once than there is room for; ask again later."""
