"""Python runs this when it starts with this folder on its path, before any module of ours.

For processes whose first line is not ours to write, such as Triton's models.
"""

from observability import probes

probes.start()
