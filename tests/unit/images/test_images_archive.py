"""Archives say nothing of the machine that made them."""

import io
import os
import tarfile
from pathlib import Path

import pytest

from images import archive


def tree(folder: Path, names: list[str]) -> Path:
    for name in names:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name)
    return folder


def test_equal_files_give_equal_archives(tmp_path: Path) -> None:
    names = ["b/z.py", "a.py", "b/a.py"]
    one = tree(tmp_path / "one", names)
    two = tree(tmp_path / "two", names[::-1])
    (two / "a.py").chmod(0o600)
    os.utime(two / "a.py", (1, 1))
    os.link(two / "a.py", tmp_path / "a second name")
    archive.pack(one, tmp_path / "one.tar")
    archive.pack(two, tmp_path / "two.tar")
    assert (tmp_path / "one.tar").read_bytes() == (tmp_path / "two.tar").read_bytes()


def test_an_archive_keeps_contents_links_and_the_executable_bit(tmp_path: Path) -> None:
    one = tree(tmp_path / "one", ["run", "text"])
    (one / "run").chmod(0o744)
    (one / "link").symlink_to("text")
    archive.pack(one, tmp_path / "one.tar")
    with tarfile.open(tmp_path / "one.tar") as tar:
        modes = {member.name: member.mode for member in tar}
        assert modes == {"run": 0o755, "text": 0o644, "link": 0o777}
        assert tar.getmember("link").linkname == "text"
        assert tar.extractfile("text").read() == b"text"  # type: ignore[union-attr]
        assert {(member.uid, member.mtime) for member in tar} == {(0, 0)}


def root_file_system(path: Path) -> Path:
    with tarfile.open(path, "w") as tar:
        for name, mode in (
            ("./etc/passwd", 0o644),
            ("./usr/bin/su", 0o4755),
            ("./usr/bin/wall", 0o2755),
            ("./usr/share/man/man1/su.1", 0o644),
        ):
            member = tarfile.TarInfo(name)
            member.mode, member.size = mode, 5
            tar.addfile(member, io.BytesIO(b"root\n"))
    return path


def test_slimming_removes_paths_and_set_id_bits_and_appends(tmp_path: Path) -> None:
    source = root_file_system(tmp_path / "raw.tar")
    archive.slim(source, tmp_path / "out.tar", ["usr/share/man/*"], {"etc/passwd": "switchyard\n"})
    with tarfile.open(tmp_path / "out.tar") as tar:
        assert {member.name: member.mode for member in tar} == {
            "./etc/passwd": 0o644,
            "./usr/bin/su": 0o755,
            "./usr/bin/wall": 0o755,
        }
        assert tar.extractfile("./etc/passwd").read() == b"root\nswitchyard\n"  # type: ignore[union-attr]


def test_slimming_a_root_without_the_file_to_append_to_fails(tmp_path: Path) -> None:
    source = root_file_system(tmp_path / "raw.tar")
    with pytest.raises(ValueError, match="etc/group"):
        archive.slim(source, tmp_path / "out.tar", [], {"etc/group": "x"})


def test_pruning_takes_named_files_and_folders_left_empty(tmp_path: Path) -> None:
    packages = tree(tmp_path / "p", ["a/tests/t.py", "a/code.py", "b/old/x.py"])
    archive.prune(packages, ["*/tests/*", "b/old/*"])
    left = sorted(path.relative_to(packages).as_posix() for path in packages.rglob("*"))
    assert left == ["a", "a/code.py"]
