"""Run by the peers' own Python: `peers.py PROGRAM FILE…` prints a JSON line a file.

Each line is `{"rows": [[cell, …], …], "text": …, "pages": …, "cpu_s": …}`.
"""

import json
import re
import sys
import time

Extracted = tuple[list[list[str]], str, int]


def pdfplumber_rows(path: str) -> Extracted:
    """Its tables by ruling lines, and where a page has none, by text: the better for it."""
    import pdfplumber

    rows: list[list[str]] = []
    text: list[str] = []
    by_text = {"vertical_strategy": "text", "horizontal_strategy": "text"}
    with pdfplumber.open(path) as file:
        for page in file.pages:
            tables = page.extract_tables() + page.extract_tables(by_text)
            rows += [[cell or "" for cell in row] for table in tables for row in table]
            text.append(page.extract_text() or "")
        return rows, "\n".join(text), len(file.pages)


def pymupdf4llm_rows(path: str) -> Extracted:
    """The rows of its Markdown tables, marks of bold and of lines taken off."""
    import pymupdf
    import pymupdf4llm

    # Its own defaults stop at graphics; tables are tried both with lines and by text.
    texts = [pymupdf4llm.to_markdown(path, show_progress=False, table_strategy=strategy)
             for strategy in ("lines_strict", "text")]  # fmt: skip
    rows = [
        [re.sub(r"\*\*|<br>|`", "", cell).strip() for cell in line.strip("|").split("|")]
        for text in texts
        for line in text.splitlines()
        if line.startswith("|")
    ]
    with pymupdf.open(path) as file:
        return rows, re.sub(r"\*\*|[#|`]|<br>", "", texts[0]), len(file)


PROGRAMS = {"pdfplumber": pdfplumber_rows, "pymupdf4llm": pymupdf4llm_rows}


def main() -> None:
    extract = PROGRAMS[sys.argv[1]]
    for path in sys.argv[2:]:
        begun = time.process_time()
        rows, text, pages = extract(path)
        answer = {"rows": rows, "text": text, "pages": pages,
                  "cpu_s": time.process_time() - begun}  # fmt: skip
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
