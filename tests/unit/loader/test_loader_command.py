"""The command line: what is wrong is one line, before anything is loaded."""

from pathlib import Path

import pytest

from apps.loader.__main__ import main
from apps.loader.samples.__main__ import main as print_samples
from apps.loader.samples.library import library
from apps.loader.samples.paper import print_report
from apps.loader.samples.report import BadReport, Table, parse


def said(capsys: pytest.CaptureFixture[str]) -> str:
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    return line


def test_a_folder_without_reports_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path)]) == 2
    assert f"loader: {tmp_path}: there is no PDF file below it" in said(capsys)


def test_a_folder_whose_name_is_no_department_asks_for_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "My Files"
    place.mkdir()
    (place / "a.pdf").touch()
    assert main([str(place)]) == 2
    assert "'My Files' is no department's name; give --department" in said(capsys)


def test_files_are_found_whatever_the_case_of_their_ending(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "REPORT.PDF").touch()
    assert main([str(tmp_path), "--department", "Finance!"]) == 2
    assert "REPORT.PDF" in said(capsys)


def test_a_department_that_cannot_be_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.pdf").touch()
    assert main([str(tmp_path), "--department", "Finance!"]) == 2
    assert "'Finance!' is no department's name" in said(capsys)


def test_a_sample_is_printed_the_same_each_time(tmp_path: Path) -> None:
    chosen = [report for report in library() if report.name.startswith("blood-count")]
    assert {report.language for report in chosen} == {"zh", "en"}
    for report in chosen:
        for copy in ("one.pdf", "two.pdf"):
            print_report(report, tmp_path / copy)
        assert (tmp_path / "one.pdf").read_bytes() == (tmp_path / "two.pdf").read_bytes()


def test_samples_that_cannot_be_written_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert print_samples([str(tmp_path / "file")]) == 1
    assert "choose another folder" in said(capsys)


def test_the_sums_of_the_annual_reports_are_right() -> None:
    for report in library():
        if report.department != "financial":
            continue
        tables = [part for section in report.sections for part in section.parts
                  if isinstance(part, Table)]  # fmt: skip
        for year in (1, 2):
            cells = {row[0]: row[year] for table in tables[:2] for row in table.rows}
            amount = {label: _amount(text) for label, text in cells.items()}
            labels = list(amount)
            assert sum(amount[label] for label in labels[:4]) == amount[labels[4]]
            assert amount[labels[4]] - amount[labels[7]] == amount[labels[8]]


def _amount(text: str) -> int:
    digits = int(text.strip("()").replace(",", "").replace(".", ""))
    return -digits if text.startswith("(") else digits


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("title: x\n\n# A\nb", "the head lacks date, department, language, name"),
        (
            "name: n\ntitle: t\nlanguage: en\ndepartment: d\ndate: 2026-01-01\n\n# A\n|x|y|",
            "the table in 'A' has no title",
        ),
    ],
)
def test_a_text_that_is_no_report_is_one_line(text: str, words: str) -> None:
    with pytest.raises(BadReport, match=words):
        parse(text, "a.txt")
