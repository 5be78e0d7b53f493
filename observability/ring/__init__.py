"""The last 1,000 requests, a JSON line each, in a file that outlives the process.

Several processes write into one memory-mapped file and `kill -9` at any instruction costs
at most the line being written. `python -m observability.ring FILE` reads it.
"""

from observability.ring.layout import LINES
from observability.ring.reader import Contents, read
from observability.ring.requests import Requests
from observability.ring.writer import Ring

__all__ = ["LINES", "Contents", "Requests", "Ring", "read"]
