"""Server-sent events, byte by byte: a stream may be split anywhere and end its lines anyhow."""

_BOM = b"\xef\xbb\xbf"
MOST_BYTES = 1 << 18


class Parser:
    """Gives the data of each whole event. An event longer than MOST_BYTES is left out, and
    `skipped` counts it."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []
        self._size = 0
        self._after_cr = False
        self._first = True
        self.skipped = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """The data of the events that `chunk` completes, in order."""
        if self._after_cr and chunk:
            # The line ended with the CR; its LF came now.
            chunk = chunk.removeprefix(b"\n")
            self._after_cr = False
        self._after_cr = self._after_cr or chunk.endswith(b"\r")
        text = (self._rest + chunk).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *lines, rest = text.split(b"\n")
        if len(rest) > MOST_BYTES:
            self._size, rest = MOST_BYTES + 1, b""
        self._rest = rest
        return [data for line in lines if (data := self._line(line)) is not None]

    def _line(self, line: bytes) -> bytes | None:
        """Take one line without its end; the event's data if it is the empty one after it."""
        if self._first:
            self._first = False
            line = line.removeprefix(_BOM)
        if line:
            name, _, value = line.partition(b":")
            if name == b"data":
                self._data.append(value.removeprefix(b" "))
                self._size += len(value) + 1
                if self._size > MOST_BYTES:
                    self._data.clear()
            return None
        data, too_long = self._data, self._size > MOST_BYTES
        self._data, self._size = [], 0
        if too_long:
            self.skipped += 1
            return None
        return b"\n".join(data) if data else None
