"""What /proc says, of this process and of ones that are gone."""

import os
import subprocess
import sys
from pathlib import Path

from observability.agent import process
from observability.agent.points import interesting, is_cuda
from observability.agent.process import MappedFile


def test_a_number_is_not_enough_to_be_the_same_process() -> None:
    me = process.find(os.getpid())
    assert me is not None
    assert me.started > 0
    assert process.find(2**22 + 1) is None


def test_a_command_with_brackets_and_blanks_in_its_name_is_read(tmp_path: Path) -> None:
    odd = tmp_path / "a) 1 (b"
    odd.symlink_to("/bin/sleep")
    child = subprocess.Popen([odd, "60"])
    try:
        found = process.find(child.pid)
        assert found is not None
        assert found.started >= process.find(os.getpid()).started  # type: ignore[union-attr]
        assert child.pid in process.with_descendants([os.getpid()])
    finally:
        child.kill()
        child.wait()
    assert process.find(child.pid) is None
    assert process.mapped_files(child.pid) == []


def test_each_mapped_file_is_named_once() -> None:
    files = process.mapped_files(os.getpid())
    assert len(files) == len(set(files))
    assert any(Path(file.path).samefile(sys.executable) for file in files)


def test_names_that_promise_a_probe() -> None:
    every = frozenset({"python", "gpu", "waits"})
    for path, programs, expected in [
        ("/x/_native.abi3.so", frozenset({"python"}), True),
        ("/x/libcudart-d0da41ae.so.11.0", every, True),
        ("/usr/lib/libcuda.so.535.104", every, True),
        ("/usr/lib/libcuda.so.1", frozenset({"python"}), False),
        ("/usr/lib/libcudadebugger.so.1", every, False),
        ("/usr/bin/python3.11", every, True),
        ("/usr/lib/libpython3.13.so.1.0", every, True),
        ("/usr/bin/python3.11", frozenset({"python", "gpu"}), False),
        ("/usr/lib/libc.so.6", every, False),
    ]:
        assert interesting(MappedFile("8:1", 1, path), programs) is expected, path  # type: ignore[arg-type]
    assert is_cuda("/a/b/libcudart.so.13")
