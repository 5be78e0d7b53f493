"""A reader whose every answer is the same, its argument left out: for the test of answers."""

import os
import sys

for _ in sys.stdin:
    print(os.environ["PATH"], flush=True)
