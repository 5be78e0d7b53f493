"""The controller as it is, without the checks that only the assistant's own tree can pass."""

import sys
from pathlib import Path

from rollout.names import from_environment
from rollout.serve import serve

if __name__ == "__main__":
    names, folder, port = sys.argv[1:]
    sys.exit(serve(from_environment(names), Path(folder), ("127.0.0.1", int(port)), []))
