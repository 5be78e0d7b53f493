"""`python -m observability.ring FILE`: the last requests of a process, also of a dead one."""

import argparse
import sys
import time
from pathlib import Path

from observability.ring.layout import LINES
from observability.ring.reader import Contents, read

_LOOK_EVERY_S = 0.2
_EXAMPLES = """\
examples:
  python -m observability.ring /tmp/requests.ring | grep '"status":"degraded"'
  python -m observability.ring /tmp/requests.ring --follow
"""


def main() -> int:
    """0, 1 for a file that is damaged (its good lines are printed), 2 for one that cannot
    be read."""
    parser = argparse.ArgumentParser(
        prog="python -m observability.ring",
        description=f"Print the last {LINES} requests, one JSON line each; what is wrong with "
        "the file goes to standard error.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("--follow", action="store_true", help="go on until interrupted")
    chosen = parser.parse_args()
    try:
        contents = read(chosen.file)
        last = _print(contents, 0)
        if chosen.follow:
            _follow(chosen.file, last)
    except OSError as error:
        print(f"error: {chosen.file}: {error.strerror}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 0
    for problem in contents.problems:
        print(f"{chosen.file}: {problem}", file=sys.stderr)
    count = len(contents.lines)
    print(f"{count} lines, {contents.unfinished} unfinished, {contents.damaged} damaged",
          file=sys.stderr)  # fmt: skip
    return 1 if contents.problems else 0


def _print(contents: Contents, after: int) -> int:
    for line in contents.lines:
        if line.number > after:
            sys.stdout.buffer.write(line.text + b"\n")
    sys.stdout.buffer.flush()
    return contents.lines[-1].number if contents.lines else after


def _follow(file: Path, last: int) -> None:
    while True:
        time.sleep(_LOOK_EVERY_S)
        contents = read(file)
        if contents.lines and contents.lines[-1].number < last:
            last = 0  # a new file stands in the old one's place
        last = _print(contents, last)


if __name__ == "__main__":
    sys.exit(main())
