"""Where a symbol or a static probe lies in an ELF file, as the byte to put a uprobe on."""

import mmap
import os
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
    """A 64-bit little-endian ELF file, mapped. Errors: `TraceError`, also for a truncated one."""

    def __init__(self, path: str) -> None:
        self._path = path
        try:
            # The path is another process's: it may name a pipe by now.
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            try:
                self._data = mmap.mmap(fd, 0, prot=mmap.PROT_READ)
            finally:
                os.close(fd)
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
        header = _HEADER.unpack_from(self._data, 0)
        if header[0][:6] != _LITTLE_64:
            raise ValueError("not ELF64")
        (
            (segments_at, sections_at),
            (segment_size, segments, section_size, sections, names_index),
        ) = (
            header[5:7],
            header[9:14],
        )
        self._segments = [
            _SEGMENT.unpack_from(self._data, segments_at + i * segment_size)
            for i in range(segments)
        ]
        raw = [
            _SECTION.unpack_from(self._data, sections_at + i * section_size)
            for i in range(sections)
        ]
        names_at = raw[names_index][4] if raw else 0
        self._sections = [
            _Section(self._string(names_at + r[0]), r[1], r[3], r[4], r[5], r[6], r[9]) for r in raw
        ]

    def _functions_in(self, section: _Section, names: Collection[str]) -> Iterator[tuple[str, int]]:
        strings = self._sections[section.link].offset
        wanted = {name.encode() for name in names}
        for at in range(section.offset, section.offset + section.size, _SYMBOL.size):
            name_at, info, _, index, value, _ = _SYMBOL.unpack_from(self._data, at)
            if index and info & 15 == _FUNCTION:
                name = self._bytes(strings + name_at)
                if name in wanted:
                    yield name.decode(), self._file_offset(value)

    def _probes_in(self, section: _Section) -> Iterator[StaticProbe]:
        base = next((s.address for s in self._sections if s.name == ".stapsdt.base"), 0)
        at, end = section.offset, section.offset + section.size
        while at < end:
            owner_size, size, kind = _NOTE.unpack_from(self._data, at)
            owner_at = at + _NOTE.size
            start = owner_at + _padded(owner_size)
            if kind == _STAPSDT and self._data[owner_at : owner_at + 7] == b"stapsdt":
                address, noted_base, semaphore = _PROBE.unpack_from(self._data, start)
                # A prelinked file was moved since; the semaphore moved with it.
                moved = base - noted_base if base else 0
                provider, name, *_ = (
                    self._data[start + _PROBE.size : start + size].decode().split("\0")
                )
                yield StaticProbe(
                    provider,
                    name,
                    self._file_offset(address + moved),
                    self._file_offset(semaphore + moved) if semaphore else 0,
                )
            at = start + _padded(size)

    def _file_offset(self, address: int) -> int:
        for kind, _, offset, start, _, in_file, _, _ in self._segments:
            if kind == _LOAD and start <= address < start + in_file:
                return int(address - start + offset)
        raise ValueError(f"address {address:#x} is in no segment of the file")

    def _bytes(self, at: int) -> bytes:
        end = self._data.find(b"\0", at)
        if end < 0:
            raise ValueError("a string without an end")
        return self._data[at:end]

    def _string(self, at: int) -> str:
        return self._bytes(at).decode(errors="replace")


def _padded(size: int) -> int:
    return size + (-size & 3)
