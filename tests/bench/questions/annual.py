"""Questions about the invented insurers' annual reports: the same ones for the same reports.

An insurer is named as its own report names it, in either language of the question: whoever asks
about 安和健康保险 in English has no other name for it.
"""

from apps.loader.samples.financial import YEAR
from apps.loader.samples.report import Report, Table
from tests.bench.questions.question import Fact

PER_REPORT = 18
# The labels of the tables' rows, Chinese and English, as both languages' questions name them.
_ITEMS = {
    "货币资金": "Cash and cash equivalents",
    "债权投资": "Debt securities",
    "股权投资": "Equity securities",
    "投资性房地产": "Investment property",
    "资产总计": "Total assets",
    "保险合同负债": "Insurance contract liabilities",
    "应付债券": "Bonds payable",
    "负债合计": "Total liabilities",
    "所有者权益合计": "Total equity",
    "保险服务收入": "Insurance revenue",
    "投资收益": "Investment income",
    "营业收入合计": "Total income",
    "赔付支出": "Claims paid",
    "业务及管理费": "Operating expenses",
    "营业支出合计": "Total expenses",
    "净利润": "Net profit",
    "综合偿付能力充足率": "Solvency ratio",
    "资产负债率": "Liabilities to assets",
    "赔付率": "Loss ratio",
    "费用率": "Expense ratio",
}
_PRODUCTS = {
    "住院医疗保险": "Inpatient cover",
    "门诊医疗保险": "Outpatient cover",
    "重大疾病保险": "Critical illness",
    "意外伤害保险": "Accident cover",
    "长期护理保险": "Care cover",
}
_ASK_ITEM = (
    ("{name}{year}年的{item}是多少？", "What was the {item} of {name} in {year}?"),
    ("请问{name}去年{item}有多少？", "How much {item} did {name} report for {year}?"),
    ("我想知道{name}的{item}", "Please tell me the {item} of {name}."),
    ("{name}年报里{item}是多少", "What does the annual report of {name} say about {item}?"),
)
_ASK_PRODUCT = (
    ("{name}的{item}有多少份保单？", "How many policies of {item} does {name} have?"),
    ("{name}{item}收了多少保费？", "What premiums did {name} take for {item}?"),
    ("{name}在{item}上赔了多少钱？", "How much did {name} pay in claims for {item}?"),
)
# A part of a sentence that every report of a language has, and what asks for it.
_PROSE = {
    "zh": (
        ("客户服务热线为", "{name}的客服电话是多少？", "What is the customer hotline of {name}?"),
        ("家分公司", "{name}在全国有几家分公司？", "How many branches does {name} have?"),
        ("平均理赔时间为", "{name}理赔平均要几天？", "How many days does {name} take for a claim?"),
        ("进行压力测试", "{name}多久做一次压力测试？", "How often does {name} run a stress test?"),
    ),
    "en": (
        ("a staff of", "{name}有多少员工？", "How many people work for {name}?"),
        ("branches and", "{name}有几家分支机构？", "How many branches does {name} have?"),
        (
            "customers who renewed rose",
            "{name}的续保率提高了多少？",
            "By how much did renewals at {name} rise?",
        ),
        ("runs a stress test", "{name}多久做一次压力测试？", "How often does {name} stress test?"),
    ),
}  # fmt: skip


def facts(report: Report, number: int) -> list[Fact]:
    """`PER_REPORT` facts of the `number`th report; others come first in the next one."""
    name = _name(report)
    found = [
        Fact(report.name, (part,), zh.format(name=name), en.format(name=name))
        for part, zh, en in _PROSE[report.language]
    ]
    for section in report.sections:
        for table in section.parts:
            if isinstance(table, Table):
                found += [_row(name, report, row, number + at) for at, row in enumerate(table.rows)]
    begin = number * 5 % len(found)
    return (found[begin:] + found[:begin])[:PER_REPORT]


def _name(report: Report) -> str:
    return report.title.partition("股份" if report.language == "zh" else " plc")[0]


def _row(name: str, report: Report, row: tuple[str, ...], turn: int) -> Fact:
    """A row is known by its label and this year's figure."""
    chinese = report.language == "zh"
    for labels, asks in ((_ITEMS, _ASK_ITEM), (_PRODUCTS, _ASK_PRODUCT)):
        for zh, en in labels.items():
            if row[0] == (zh if chinese else en):
                ask_zh, ask_en = asks[turn % len(asks)]
                return Fact(
                    report.name,
                    (row[0], row[1]),
                    ask_zh.format(name=name, year=YEAR, item=zh),
                    ask_en.format(name=name, year=YEAR, item=en[0].lower() + en[1:]),
                )
    raise ValueError(f"{report.name}: nobody knows how to ask for {row[0]}")
