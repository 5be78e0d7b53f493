"""A function whose package has probes that nobody looks at."""


def leaf(value: int) -> int:
    return value
