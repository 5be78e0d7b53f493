"""Tokens to text as they come: whole characters only, and every bad byte on record."""

from codecs import utf_8_decode
from dataclasses import dataclass


@dataclass(frozen=True)
class BadByte:
    """A byte that is part of no UTF-8 character: it is in no text that was given out."""

    offset: int  # in the stream of all bytes pushed
    byte: int
    token: int


class Detokenizer:
    """Joins characters that were split across tokens; `bad` lists what joins nothing."""

    def __init__(self) -> None:
        self.bad: list[BadByte] = []
        self._offset = 0  # of the first waiting byte
        self._waiting = b""
        self._tokens: list[int] = []  # of each waiting byte

    def push(self, token: int, data: bytes) -> str:
        """The characters that are complete once `data`, the bytes of `token`, has come."""
        self._waiting += data
        self._tokens += [token] * len(data)
        return self._decode(final=False)

    def finish(self) -> str:
        """The stream has ended: what still waits for its rest is bad."""
        return self._decode(final=True)

    def _decode(self, final: bool) -> str:
        text = ""
        while True:
            try:
                more, used = utf_8_decode(self._waiting, "strict", final)
            except UnicodeDecodeError as error:
                text += self._waiting[: error.start].decode()
                self._take(error.start)
                self._condemn(error.end - error.start)
            else:
                self._take(used)
                return text + more

    def _condemn(self, count: int) -> None:
        for place, byte in enumerate(self._waiting[:count]):
            self.bad.append(BadByte(self._offset + place, byte, self._tokens[place]))
        self._take(count)

    def _take(self, count: int) -> None:
        self._waiting = self._waiting[count:]
        self._tokens = self._tokens[count:]
        self._offset += count
