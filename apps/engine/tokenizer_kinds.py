"""The tokeniser of a file, of whichever kind."""

from apps.engine.errors import BadArtefact
from apps.engine.gguf import Gguf
from apps.engine.tokenizer import Tokenizer
from apps.engine.tokenizer_bpe import ByteLevel
from apps.engine.tokenizer_spm import SentencePiece

_KINDS = {"gpt2": ByteLevel, "llama": SentencePiece}


def read_tokenizer(file: Gguf) -> Tokenizer:
    """The tokeniser that the metadata describes.

    Errors: `BadArtefact` for another kind, and for a vocabulary that does not fit its kind.
    """
    kind = file.get("tokenizer.ggml.model", str)
    if kind not in _KINDS:
        raise BadArtefact(
            f"{file.path}: tokeniser {kind!r} (tokenizer.ggml.model) is not supported;"
            f" use a model with one of {', '.join(_KINDS)}"
        )
    return _KINDS[kind](file)
