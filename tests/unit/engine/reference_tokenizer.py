"""Independent tokenisers: Hugging Face's, from a file's own vocabulary and merges."""

import tokenizers
from tokenizers import Regex, decoders, models, pre_tokenizers

from apps.engine.gguf import Gguf

# As published with the models.
_LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
    r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def pre_tokenizer(name: str) -> pre_tokenizers.PreTokenizer:
    """What cuts text into words, for a `tokenizer.ggml.pre`."""
    if name == "llama-bpe":
        split = pre_tokenizers.Split(Regex(_LLAMA3), "isolated")
        return pre_tokenizers.Sequence(
            [split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
        )
    words = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    if name == "gpt-2":
        return words
    return pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), words])


def reference_tokenizer(file: Gguf, name: str) -> tokenizers.Tokenizer:
    """The whole tokeniser, with the file's vocabulary and the pre-tokeniser `name`."""
    vocabulary = file.get_list("tokenizer.ggml.tokens", str)
    pairs = [line.split(" ") for line in file.get_list("tokenizer.ggml.merges", str)]
    made = tokenizers.Tokenizer(
        models.BPE(
            vocab={text: i for i, text in enumerate(vocabulary)},
            merges=[(left, right) for left, right in pairs],
            ignore_merges=name == "llama-bpe",
        )
    )
    made.pre_tokenizer = pre_tokenizer(name)
    made.decoder = decoders.ByteLevel()
    return made
