"""What can go wrong in the engine: each message is one line and says what to do next."""


class EngineError(Exception):
    """Base of every error that the engine raises on purpose."""


class BadArtefact(EngineError):
    """The model file is not one that can be computed with."""


class BadText(EngineError):
    """The text cannot be turned into tokens."""


class BadRequest(EngineError):
    """A parameter of a generation is out of its range."""


class PromptTooLong(BadRequest):
    """The prompt leaves no room for an answer in the context."""


class BadLogits(EngineError):
    """The computation gave something that is not a number."""


class Busy(EngineError):
    """More was asked for at once than the engine has room for; ask again later."""


class PoolFull(Busy):
    """The live sessions need every page of the KV pool."""


class Forked(EngineError):
    """The engine was started in another process: its threads did not come along."""
