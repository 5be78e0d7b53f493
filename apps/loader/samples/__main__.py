"""`python -m apps.loader.samples FOLDER`: print every sample report to FOLDER/DEPARTMENT."""

import argparse
import sys
from pathlib import Path

from apps.loader.samples.library import library
from apps.loader.samples.paper import print_report


def main(arguments: list[str]) -> int:
    """Print the reports; 0, or 1 if the folder cannot be written."""
    parser = argparse.ArgumentParser(
        prog="python -m apps.loader.samples",
        description=__doc__,
        epilog="example: python -m apps.loader.samples /tmp/reports",
    )
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args(arguments).folder
    try:
        for report in library():
            place = folder / report.department
            place.mkdir(parents=True, exist_ok=True)
            print_report(report, place / f"{report.name}.pdf")
    except OSError as error:
        print(f"samples: {folder}: {error.strerror}; choose another folder", file=sys.stderr)
        return 1
    print(f"printed {len(library())} reports to {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
