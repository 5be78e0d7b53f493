"""The accounting of the KV pool: which page belongs to whom; the memory itself is the core's.

A page holds the keys and values of a fixed number of positions. A full page is known
by the artefact and by every token up to its end, so sessions with the same beginning
share it; nobody writes to it again. A session that pauses leaves its last, partly
filled page behind too, under its own name, and goes on writing there when it comes
back. Pages that no live session uses are kept until the room is needed; the least
recently used go first, a session's last page before its first.
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

from apps.engine.errors import PoolFull
from apps.engine.pages import Pages, Usage

Key = bytes  # stands for the artefact and all tokens up to the end of a full page
Name = Key | tuple[str, Key]  # of a full page, or of a session's last page after that key


@dataclass
class Table:
    """One live sequence's pages, in order; `length` positions of them are filled.

    `room` pages are promised to it; `keys` name its full pages, `tail` are the tokens
    after those.
    """

    room: int
    pages: list[int] = field(default_factory=list)
    keys: list[Key] = field(default_factory=list)
    tail: list[int] = field(default_factory=list)
    length: int = 0


class Pool:
    """`pages` pages of `page` positions for one artefact, named by its digest."""

    def __init__(self, pages: int, page: int, artefact: bytes) -> None:
        self.page = page
        self.looked_up = self.found = 0  # prompt positions, for the hit rate
        self._root = blake2b(artefact, digest_size=32).digest()
        self._pages = Pages(pages, page, self._forget)
        self._full: dict[Key, int] = {}
        self._tails: dict[tuple[str, Key], tuple[int, list[int]]] = {}
        self._names: dict[int, Name] = {}  # of the pages in the two above
        self._promised = 0

    @property
    def pages(self) -> int:
        """How many there are."""
        return self._pages.count

    @property
    def hit_rate(self) -> float:
        """The part of all prompt positions so far that was found here."""
        return self.found / self.looked_up if self.looked_up else 0.0

    def usage(self) -> Usage:
        """Where the pages are now."""
        return self._pages.usage()

    def open(self, prompt: Sequence[int], positions: int, session: str = "") -> Table:
        """A table for a sequence of at most `positions`, beginning with what is here already.

        The last token of the prompt is never taken from here: its logits are wanted.
        Errors: `PoolFull` if the live sequences may need the room; nothing has changed then.
        """
        room = -(-positions // self.page)
        keys = self._known(prompt, [])
        tail = self._tail(session, keys, prompt)
        reused = [self._full[key] for key in keys] + ([tail[0]] if tail else [])
        fresh = room - sum(self._pages.is_live(page) for page in reused)
        left = self.pages - self._pages.live - self._promised
        if fresh > left:
            raise PoolFull(
                f"{room} pages are needed, {left} of {self.pages} are not promised to live"
                " sessions; ask again later"
            )
        table = Table(room, keys=keys, length=len(keys) * self.page)
        self._promised += room
        for page in reused:
            self._join(table, page)
        if tail:
            self._forget(tail[0])
            table.tail = tail[1]
            table.length += len(tail[1])
        self.looked_up += len(prompt)
        self.found += table.length
        return table

    def look_again(self, table: Table, prompt: Sequence[int]) -> None:
        """Others may have computed more of the prompt meanwhile; go on after their pages."""
        if table.tail or len(table.pages) > len(table.keys):
            return
        keys = self._known(prompt, table.keys)
        for key in keys[len(table.keys) :]:
            self._join(table, self._full[key])
            self.found += self.page
        table.keys = keys
        table.length = len(keys) * self.page

    def extend(self, table: Table, count: int) -> None:
        """Give the table the pages for `count` more positions, within its room."""
        wanted = -(-(table.length + count) // self.page)
        if wanted > table.room:
            raise ValueError(f"{wanted} pages of a table with room for {table.room}")
        while len(table.pages) < wanted:
            table.pages.append(self._pages.take())
            self._promised -= 1

    def commit(self, table: Table, tokens: Sequence[int]) -> None:
        """The positions of these tokens are computed; full pages can be shared from now on."""
        done = 0
        while done < len(tokens):
            count = min(self.page - len(table.tail), len(tokens) - done)
            table.tail += tokens[done : done + count]
            table.length += count
            done += count
            number = len(table.keys)
            self._pages.fill(table.pages[number], len(table.tail))
            if len(table.tail) == self.page:
                table.keys.append(self._key(table.keys, table.tail))
                table.tail = []
                self._publish(table, number)

    def close(self, table: Table, session: str = "") -> None:
        """The sequence is over or pauses; its pages are kept while there is room.

        Without a session's name nobody can come back to the partly filled page.
        """
        if table.tail and session:
            name = (session, table.keys[-1] if table.keys else self._root)
            if name in self._tails:
                self._pages.drop(self._tails[name][0])
            page = table.pages[len(table.keys)]
            self._tails[name] = (page, table.tail)
            self._names[page] = name
        self._promised -= table.room - len(table.pages)
        for page in reversed(table.pages):
            self._pages.release(page, keep=page in self._names)
        table.pages, table.room = [], 0

    def _known(self, prompt: Sequence[int], keys: list[Key]) -> list[Key]:
        """`keys`, and those of the full pages that follow in the prompt and are here."""
        keys = list(keys)
        for start in range(len(keys) * self.page, len(prompt) - self.page, self.page):
            key = self._key(keys, prompt[start : start + self.page])
            if key not in self._full:
                break
            keys.append(key)
        return keys

    def _tail(
        self, session: str, keys: list[Key], prompt: Sequence[int]
    ) -> tuple[int, list[int]] | None:
        """The session's partly filled page, if the prompt goes on with all of its tokens."""
        found = self._tails.get((session, keys[-1] if keys else self._root))
        start = len(keys) * self.page
        if found is None or start + len(found[1]) >= len(prompt):
            return None
        return found if list(prompt[start : start + len(found[1])]) == found[1] else None

    def _key(self, keys: list[Key], tokens: Sequence[int]) -> Key:
        before = keys[-1] if keys else self._root
        return blake2b(before + array("q", tokens).tobytes(), digest_size=32).digest()

    def _publish(self, table: Table, number: int) -> None:
        """Let others find the table's full page; if the same page is here, use that one."""
        key, page = table.keys[number], table.pages[number]
        known = self._full.get(key)
        if known is None:
            self._full[key] = page
            self._names[page] = key
            return
        self._pages.use(known)
        table.pages[number] = known
        self._pages.release(page, keep=False)

    def _join(self, table: Table, page: int) -> None:
        """A page that is here becomes the table's next."""
        self._pages.use(page)
        table.pages.append(page)
        self._promised -= 1

    def _forget(self, page: int) -> None:
        """Nobody finds the page any more."""
        name = self._names.pop(page)
        if isinstance(name, tuple):
            del self._tails[name]
        else:
            del self._full[name]
