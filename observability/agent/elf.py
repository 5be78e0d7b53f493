"""Where a symbol or a static probe lies in an ELF file, as the byte to put a uprobe on."""

import os
import stat
import struct
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from observability.bpf.errors import TraceError

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_NOTE = struct.Struct("<III")
_PROBE = struct.Struct("<QQQ")
_LITTLE_64 = b"\x7fELF\x02\x01"
_LOAD = 1
_SYMTAB, _NOTES, _NOBITS, _DYNSYM = 2, 7, 8, 11
_FUNCTION = 2
_STAPSDT = 3
# libcuda's symbols are 2 MB.
_MOST = 64 << 20


@dataclass(frozen=True, slots=True)
class StaticProbe:
    """A stapsdt note. `offset` and `semaphore` are bytes of the file; semaphore 0: it has none."""

    provider: str
    name: str
    offset: int
    semaphore: int


@dataclass(frozen=True, slots=True)
class _Section:
    name: str
    kind: int
    address: int
    offset: int
    size: int
    link: int
    entry: int


class Elf:
    """A 64-bit little-endian ELF file of somebody else's. Errors: `TraceError`, also for a
    truncated one.

    It is read piece by piece: of a mapped file that its owner cuts short, a page that is gone
    would end us."""

    def __init__(self, path: str) -> None:
        self._path = path
        try:
            # It may be a pipe by now.
            self._file = open(path, "rb", buffering=0, opener=_open)  # noqa: SIM115 - kept
            if not stat.S_ISREG(os.fstat(self._file.fileno()).st_mode):
                raise OSError("it is no regular file")
        except (OSError, ValueError) as error:
            raise TraceError(f"cannot read {path}: {error}") from None
        try:
            self._read_tables()
        except (struct.error, IndexError, ValueError):
            raise TraceError(f"{path} is no whole 64-bit little-endian ELF file") from None

    def functions(self, names: Collection[str]) -> dict[str, int]:
        """The file offset of each function of `names` that the file defines."""
        found: dict[str, int] = {}
        try:
            for section in self._sections:
                if section.kind in (_DYNSYM, _SYMTAB):
                    found = dict(self._functions_in(section, names)) | found
        except (struct.error, IndexError, ValueError):
            raise TraceError(f"{self._path}: its symbol table is damaged") from None
        return found

    def probes(self, provider: str) -> list[StaticProbe]:
        """The provider's stapsdt notes."""
        try:
            return [
                probe
                for section in self._sections
                if section.kind == _NOTES
                for probe in self._probes_in(section)
                if probe.provider == provider
            ]
        except (struct.error, IndexError, ValueError):
            raise TraceError(f"{self._path}: its stapsdt notes are damaged") from None

    def _read_tables(self) -> None:
        header = _HEADER.unpack(self._read(0, _HEADER.size))
        if header[0][:6] != _LITTLE_64:
            raise ValueError("not ELF64")
        segments_at, sections_at = header[5:7]
        segment_size, segments, section_size, sections, names_index = header[9:14]
        self._segments = list(self._table(_SEGMENT, segments_at, segment_size, segments))
        raw = list(self._table(_SECTION, sections_at, section_size, sections))
        names = self._read(raw[names_index][4], raw[names_index][5]) if raw else b""
        self._sections = [
            _Section(_string(names, r[0]), r[1], r[3], r[4], r[5], r[6], r[9]) for r in raw
        ]

    def _table(
        self, shape: struct.Struct, at: int, size: int, count: int
    ) -> Iterator[tuple[int, ...]]:
        data = self._read(at, size * count)
        return (shape.unpack_from(data, i * size) for i in range(count))

    def _functions_in(self, section: _Section, names: Collection[str]) -> Iterator[tuple[str, int]]:
        table, strings = self._contents(section), self._contents(self._sections[section.link])
        wanted = {name.encode() for name in names}
        for at in range(0, len(table), _SYMBOL.size):
            name_at, info, _, index, value, _ = _SYMBOL.unpack_from(table, at)
            if index and info & 15 == _FUNCTION:
                name = _bytes(strings, name_at)
                if name in wanted:
                    yield name.decode(), self._file_offset(value)

    def _probes_in(self, section: _Section) -> Iterator[StaticProbe]:
        base = next((s.address for s in self._sections if s.name == ".stapsdt.base"), 0)
        notes = self._contents(section)
        at = 0
        while at < len(notes):
            owner_size, size, kind = _NOTE.unpack_from(notes, at)
            owner_at = at + _NOTE.size
            start = owner_at + _padded(owner_size)
            if kind == _STAPSDT and notes[owner_at : owner_at + 7] == b"stapsdt":
                address, noted_base, semaphore = _PROBE.unpack_from(notes, start)
                # A prelinked file was moved since; the semaphore moved with it.
                moved = base - noted_base if base else 0
                provider, name, *_ = notes[start + _PROBE.size : start + size].decode().split("\0")
                yield StaticProbe(
                    provider,
                    name,
                    self._file_offset(address + moved),
                    self._file_offset(semaphore + moved) if semaphore else 0,
                )
            at = start + _padded(size)

    def _contents(self, section: _Section) -> bytes:
        return self._read(section.offset, section.size)

    def _read(self, at: int, size: int) -> bytes:
        if size > _MOST:
            raise ValueError("a table larger than any linker's")
        try:
            data = os.pread(self._file.fileno(), size, at)
        except (OSError, OverflowError) as error:
            raise ValueError(str(error)) from None
        if len(data) < size:
            raise ValueError("the file is truncated")
        return data

    def _file_offset(self, address: int) -> int:
        for kind, _, offset, start, _, in_file, _, _ in self._segments:
            if kind == _LOAD and start <= address < start + in_file:
                return int(address - start + offset)
        raise ValueError(f"address {address:#x} is in no segment of the file")


def _open(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK)


def _bytes(strings: bytes, at: int) -> bytes:
    end = strings.find(b"\0", at)
    if end < 0:
        raise ValueError("a string without an end")
    return strings[at:end]


def _string(strings: bytes, at: int) -> str:
    return _bytes(strings, at).decode(errors="replace")


def _padded(size: int) -> int:
    return size + (-size & 3)
