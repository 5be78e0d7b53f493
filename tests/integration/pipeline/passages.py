"""A few passages in both languages, embedded by the real model and stored as the loader does."""

from datetime import date
from typing import Any

import psycopg

from apps.embedder import Embedder, default_model
from apps.embedder.questions import questions
from apps.loader.chunk import Box, Chunk, Document
from apps.retrieval.documents import replace
from apps.retrieval.refill import refill

TERMS_EN = (
    "Clause 5. The waiting period for dental treatment is 90 days from the start of cover.",
    "Clause 6. The policy may be cancelled in writing within 15 days of receiving the contract.",
    "Clause 7. Ambulance costs are paid up to 2,000.00 CNY a year.",
)
TERMS_ZH = (
    "第五条 牙科治疗的等待期为自保险责任开始之日起90天。",
    "第六条 投保人可在收到合同后15天内书面解除合同。",
    "第七条 救护车费用每年最高赔付2,000.00元。",
)
MEDICAL_EN = (
    "Fasting glucose above the range can point to a disturbed sugar metabolism.",
    "A high LDL cholesterol strains the blood vessels over the years.",
    "A low HDL cholesterol removes less surplus cholesterol from the blood.",
)
MEDICAL_ZH = (
    "空腹血糖偏高可能提示糖代谢异常。",
    "低密度脂蛋白胆固醇偏高会长期增加血管负担。",
    "高密度脂蛋白胆固醇偏低时，多余的胆固醇较难被清除。",
)


TITLES = {
    "annual-anhe.zh": "安和健康保险股份有限公司2025年度报告",
    "annual-beichen.zh": "北辰健康保险股份有限公司2025年度报告",
    "annual-alder.en": "Alder Health Insurance plc Annual Report 2025",
    "annual-beacon.en": "Beacon Health Insurance plc Annual Report 2025",
}
# Of each report, what its rows say in the language of its name.
ROWS = {
    "zh": ("资产总计", "负债合计", "净利润", "赔付率"),
    "en": ("Total assets", "Total liabilities", "Net profit", "Loss ratio"),
}


def store(postgres: Any) -> None:
    """Load the four documents above as the insurer's own."""
    _store(
        postgres,
        [
            _document("terms.en", "financial", "en", TERMS_EN),
            _document("terms.zh", "financial", "zh", TERMS_ZH),
            _document("values.en", "medical", "en", MEDICAL_EN),
            _document("values.zh", "medical", "zh", MEDICAL_ZH),
        ],
    )


def store_reports(postgres: Any) -> None:
    """Load four annual reports, whose rows have the same names, beside the documents above."""
    store(postgres)
    reports = []
    for number, (name, title) in enumerate(TITLES.items(), start=1):
        language = name.rpartition(".")[2]
        rows = tuple(f"Item | 2025\n{label} | {number},234.50" for label in ROWS[language])
        reports.append(_document(name, "financial", language, rows, title))
    _store(postgres, reports)


def _store(postgres: Any, documents: list[Document]) -> None:
    with (
        Embedder.open(default_model()) as embedder,
        psycopg.connect(postgres.url("loader"), autocommit=True) as connection,
    ):
        for document in documents:
            texts = [chunk.search_text for chunk in document.chunks]
            vectors = embedder.embed(texts, "passage").vectors
            replace(connection, document, vectors, embedder.model)
        refill(connection, embedder, questions())


def _document(
    name: str, department: str, language: Any, texts: tuple[str, ...], title: str = ""
) -> Document:
    chunks = tuple(
        Chunk(
            number=number,
            text=text,
            search_text=f"{title} {text}".strip(),
            kind="table_row" if title else "text",
            boxes=(Box(number + 2, 72, 100, 523, 130),),
            section=("Terms",),
            tokens=40,
            confidence=1.0,
        )
        for number, text in enumerate(texts)
    )
    return Document(
        sha3=name.encode().hex().ljust(128, "0"),
        name=f"{name}.pdf",
        title=title or f"Title {name}",
        department=department,
        report_date=date(2026, 1, 1),
        language=language,
        pages=9,
        owner=None,
        chunks=chunks,
    )
