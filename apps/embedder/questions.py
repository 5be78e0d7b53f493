"""What customers ask, whatever about: what the questions of a language have in common.

The model puts questions of one language together, and apart from that language's passages. A
question that is searched with is moved by the mean of these, so that its meaning remains.
"""

from pathlib import Path

QUESTIONS = Path(__file__).with_name("questions.tsv")


def questions() -> dict[str, tuple[str, ...]]:
    """{language: its questions}; to be embedded with the kind "query"."""
    found: dict[str, list[str]] = {}
    for line in QUESTIONS.read_text("utf-8").splitlines():
        if not line.startswith("#"):
            language, _, question = line.partition("\t")
            found.setdefault(language, []).append(question)
    return {language: tuple(texts) for language, texts in found.items()}
