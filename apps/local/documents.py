"""The sample reports: printed once, loaded at each start, which is quick when nothing changed."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from apps.local.errors import LocalError
from apps.local.service import ROOT, stop_with_parent

PRINT_S = 120
LOAD_S = 600
STOP_S = 10


class Documents:
    """Loads the reports beside the start of the other parts; use it in a `with` block."""

    def __init__(self, folder: Path, database_url: str, log: Path) -> None:
        self._folder = folder
        self._url = database_url
        self._log = log

    def __enter__(self) -> "Documents":
        if not self._folder.is_dir():
            part = self._folder.with_suffix(".part")
            words = [sys.executable, "-m", "apps.loader.samples", str(part)]
            subprocess.run(words, cwd=ROOT, check=True, capture_output=True, timeout=PRINT_S)
            part.rename(self._folder)
        with self._log.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "apps.loader", str(self._folder)],
                cwd=ROOT,
                env={**os.environ, "DATABASE_URL": self._url},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=stop_with_parent,
            )
        return self

    def __exit__(self, *_: Any) -> None:
        if self._process.poll() is None:
            self._process.terminate()
            self._process.wait(STOP_S)

    def wait(self) -> str:
        """What was loaded, in a line. Raises LocalError if something was not."""
        try:
            code = self._process.wait(LOAD_S)
        except subprocess.TimeoutExpired:
            raise LocalError(f"the reports are not loaded; read {self._log}") from None
        lines = self._log.read_text(errors="replace").splitlines()
        if code:
            last = lines[-1] if lines else "no output"
            raise LocalError(f"the reports are not loaded: {last}; read {self._log}")
        return next((line for line in lines if " files (" in line), "no reports")
