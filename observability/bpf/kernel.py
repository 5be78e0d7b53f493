"""Which kernel this is, and what it is old enough for."""

import os

FLOOR = (5, 4)
# Since then BPF has ring buffers, and the rights BPF and PERFMON stand for SYS_ADMIN.
RING_BUFFER = (5, 8)


def release(text: str = "") -> tuple[int, int]:
    """(major, minor) of a kernel release as `uname -r` writes it; this kernel's by default."""
    major, minor = (text or os.uname().release).split(".")[:2]
    return int(major), int("".join(filter(str.isdigit, minor.split("-")[0])) or 0)
