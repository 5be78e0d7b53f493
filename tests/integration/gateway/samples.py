"""Some of the sample reports, loaded by the loader's command as on the cluster."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from apps.loader.samples.library import library
from apps.loader.samples.paper import print_report

ROOT = Path(__file__).parents[3]
DEPARTMENTS = ("medical", "products")


def load_samples(postgres: Any, folder: Path) -> None:
    """Print and load the reports of `DEPARTMENTS`."""
    for report in library():
        if report.department in DEPARTMENTS:
            place = folder / report.department
            place.mkdir(parents=True, exist_ok=True)
            print_report(report, place / f"{report.name}.pdf")
    done = subprocess.run(
        [sys.executable, "-m", "apps.loader", folder],
        cwd=ROOT,
        env=os.environ | {"DATABASE_URL": postgres.url("loader")},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
