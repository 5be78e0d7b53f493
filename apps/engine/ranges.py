"""Named ranges on a GPU profiler's timeline, where the library `nvtx` is installed."""

from contextlib import AbstractContextManager, nullcontext

try:
    from nvtx import annotate
except ImportError:
    annotate = None


def marked(name: str) -> AbstractContextManager[object]:
    """A `with` block that shows as `name`; without the library it does nothing.

    The library keeps every name for ever: let it be a constant, with no number in it.
    """
    if annotate is None:
        return nullcontext()
    block: AbstractContextManager[object] = annotate(name, domain="switchyard")
    return block
