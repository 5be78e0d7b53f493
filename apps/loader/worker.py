"""`python -m apps.loader.worker MEMORY`: the process that opens strangers' files, and nothing else.

Reads requests `{"path", "limits"}` from standard input, one a line, and answers each with one
line of `apps.loader.wire`; a `"page"` among them asks for its picture (`apps.loader.picture`).
It may use MEMORY bytes of address space, has no secrets in its environment and no connection to
anything, and may be killed at any moment.
"""

import json
import os
import resource
import sys
from pathlib import Path

MODULE = "apps.loader.worker"
KEEP = 20
"""Files between two times that the library's store is emptied."""


def main(memory: int) -> None:
    """Serve until standard input ends. Leaves with status 3 when memory ran out."""
    # What libraries print must not get among the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    from apps.loader.errors import Unreadable
    from apps.loader.file import forget, read
    from apps.loader.limits import Limits
    from apps.loader.picture import draw
    from apps.loader.wire import encode

    for served, line in enumerate(sys.stdin.buffer, start=1):
        # Not after each: fonts of one file are often those of the next.
        if served % KEEP == 0:
            forget()
        request = json.loads(line)
        path = Path(request["path"])
        try:
            if page := request.get("page"):
                text = draw(path, page)
            else:
                text = encode(read(path, Limits(**request["limits"])))
        except Unreadable as error:
            text = encode(error)
        except MemoryError:
            # What is left of the heap is not worth keeping: a fresh process reads the next file.
            os._exit(3)
        except RecursionError:
            text = encode(Unreadable("damaged", "it nests without end; ask for the file again"))
        answers.write(text)
        answers.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]))
