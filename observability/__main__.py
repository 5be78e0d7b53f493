"""`python -m observability`: why one answer was slow, and what it cost."""

import sys

from observability.bpf.errors import TraceError
from observability.cli.arguments import parser


def main() -> int:
    arguments = parser().parse_args()
    try:
        return int(arguments.run(arguments))
    except TraceError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # `| head` has read enough.
        sys.stderr.close()
        return 0


if __name__ == "__main__":
    sys.exit(main())
