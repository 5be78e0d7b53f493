"""`python -m apps.embedder.build`: the packaged model, as ONNX Runtime reads it."""

import argparse
import sys
from pathlib import Path

from apps.embedder.build.folder import english, multilingual, write
from apps.embedder.build.packed import packaged
from apps.embedder.build.products import PRODUCTS
from apps.embedder.errors import EmbedderError


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m apps.embedder.build",
        description="Turn the packaged model, multilingual-e5-small in 4 bit, into an ONNX graph"
        " with its tokeniser. The same package gives the same bytes. Vectors of different models"
        " do not mix: whatever was embedded must be embedded again.",
        epilog="example: python -m apps.embedder.build --out /tmp/model --weights int8",
    )
    parser.add_argument("--out", type=Path, required=True, help="the folder to write")
    parser.add_argument(
        "--weights",
        choices=sorted(PRODUCTS),
        help="int4: as packaged (the default). int8: about twice as fast, a little less exact:"
        " cosine to int4 0.98 to 0.998, and less without the CPU's VNNI.",
    )
    parser.add_argument(
        "--english",
        type=Path,
        metavar="FOLDER",
        help="all-MiniLM-L6-v2 instead, from a folder with its model.safetensors and vocab.txt:"
        " faster, but no Chinese (every character is unknown to it); float32 unless int8 is asked",
    )
    chosen = parser.parse_args(words)
    try:
        if chosen.english:
            made = english(chosen.english, chosen.weights or "float32")
        else:
            made = multilingual(packaged(), chosen.weights or "int4")
        print(write(*made, chosen.out).name)
    except (EmbedderError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
