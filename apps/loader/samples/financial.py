"""Invented insurers' annual reports: every sum adds up, every figure is its own. Pure."""

import random
from datetime import date

from apps.loader.samples.report import Report, Section, Table

YEAR = 2025
ZH = ("安和", "北辰", "沧海", "东篱", "枫桥", "观澜", "鹤鸣", "锦川")
EN = ("Alder", "Beacon", "Cobalt", "Dunmore", "Elmwood", "Fairhaven", "Granite", "Harbour")
PRODUCTS = {
    "zh": ("住院医疗保险", "门诊医疗保险", "重大疾病保险", "意外伤害保险", "长期护理保险"),
    "en": (
        "Inpatient cover",
        "Outpatient cover",
        "Critical illness",
        "Accident cover",
        "Care cover",
    ),
}


def reports(seed: int = 1) -> list[Report]:
    """One report an insurer: eight in Chinese, eight in English; the same for the same seed."""
    chance = random.Random(seed)  # noqa: S311
    return [_chinese(name, chance) for name in ZH] + [_english(name, chance) for name in EN]


def _money(value: int) -> str:
    """Cents as `1,234.50`; what is owed or lost in brackets."""
    text = f"{abs(value) // 100:,}.{abs(value) % 100:02d}"
    return f"({text})" if value < 0 else text


def _years(chance: random.Random, low: int, high: int) -> tuple[int, int]:
    """This year's figure and last year's, in cents."""
    last = chance.randrange(low * 100, high * 100)
    return round(last * chance.uniform(0.86, 1.22)), last


Figures = dict[str, tuple[int, int]]


def _figures(chance: random.Random) -> Figures:
    """A balance sheet and an income statement that add up; millions, in cents."""
    parts = {
        "cash": (800, 4_000),
        "bonds": (20_000, 90_000),
        "shares": (3_000, 30_000),
        "property": (500, 9_000),
        "reserves": (18_000, 70_000),
        "borrowed": (500, 6_000),
        "premiums": (9_000, 40_000),
        "returns": (900, 5_000),
        "claims": (5_000, 20_000),
        "costs": (1_000, 6_000),
    }
    found = {name: _years(chance, *bounds) for name, bounds in parts.items()}

    def total(*names: str) -> tuple[int, int]:
        return sum(found[name][0] for name in names), sum(found[name][1] for name in names)

    def less(first: tuple[int, int], second: tuple[int, int]) -> tuple[int, int]:
        return first[0] - second[0], first[1] - second[1]

    found["assets"] = total("cash", "bonds", "shares", "property")
    found["liabilities"] = total("reserves", "borrowed")
    found["equity"] = less(found["assets"], found["liabilities"])
    found["income"] = total("premiums", "returns")
    found["expenses"] = total("claims", "costs")
    found["profit"] = less(found["income"], found["expenses"])
    return found


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.2f}%"


_BALANCE = ("cash", "bonds", "shares", "property", "assets", "reserves", "borrowed", "liabilities",
            "equity")  # fmt: skip
_INCOME = ("premiums", "returns", "income", "claims", "costs", "expenses", "profit")
_LABELS = {
    "cash": ("货币资金", "Cash and cash equivalents"),
    "bonds": ("债权投资", "Debt securities"),
    "shares": ("股权投资", "Equity securities"),
    "property": ("投资性房地产", "Investment property"),
    "assets": ("资产总计", "Total assets"),
    "reserves": ("保险合同负债", "Insurance contract liabilities"),
    "borrowed": ("应付债券", "Bonds payable"),
    "liabilities": ("负债合计", "Total liabilities"),
    "equity": ("所有者权益合计", "Total equity"),
    "premiums": ("保险服务收入", "Insurance revenue"),
    "returns": ("投资收益", "Investment income"),
    "income": ("营业收入合计", "Total income"),
    "claims": ("赔付支出", "Claims paid"),
    "costs": ("业务及管理费", "Operating expenses"),
    "expenses": ("营业支出合计", "Total expenses"),
    "profit": ("净利润", "Net profit"),
}


def _rows(names: tuple[str, ...], figures: Figures, language: int) -> tuple[tuple[str, ...], ...]:
    return tuple(
        (_LABELS[name][language], *(_money(value) for value in figures[name])) for name in names
    )


def _ratios(figures: Figures, chance: random.Random, language: int) -> tuple[tuple[str, ...], ...]:
    solvency = [f"{chance.uniform(105, 290):.2f}%" for _ in range(2)]
    pairs = {
        ("综合偿付能力充足率", "Solvency ratio"): solvency,
        ("资产负债率", "Liabilities to assets"): [
            _percent(figures["liabilities"][at], figures["assets"][at]) for at in (0, 1)
        ],
        ("赔付率", "Loss ratio"): [
            _percent(figures["claims"][at], figures["premiums"][at]) for at in (0, 1)
        ],
        ("费用率", "Expense ratio"): [
            _percent(figures["costs"][at], figures["premiums"][at]) for at in (0, 1)
        ],
    }
    return tuple((label[language], *values) for label, values in pairs.items())


def _products(language: str, chance: random.Random) -> tuple[tuple[str, ...], ...]:
    rows = []
    for product in PRODUCTS[language]:
        policies, premium = chance.randrange(9_000, 900_000), chance.randrange(10_000_000, 10**9)
        paid = round(premium * chance.uniform(0.35, 0.95))
        rows.append((product, f"{policies:,}", _money(premium), _money(paid)))
    return tuple(rows)


def _chinese(name: str, chance: random.Random) -> Report:
    figures = _figures(chance)
    company = f"{name}健康保险股份有限公司"
    branches, staff, growth = (chance.randrange(*r) for r in ((12, 90), (900, 9000), (3, 40)))
    days, hotline = chance.randrange(2, 9), f"95{chance.randrange(500, 999)}"
    years = (f"{YEAR}年", f"{YEAR - 1}年")
    sections = (
        Section("公司概况", (
            f"{company}在全国设有{branches}家分公司，员工{staff}人，客户服务热线为{hotline}。",
            f"报告期内续保率提高了{growth}个千分点，平均理赔时间为{days}个工作日。",
        )),
        Section("资产负债表", (
            f"下表列示{name}健康保险在报告期末的资产、负债和所有者权益。",
            Table("资产负债表（单位：百万元）", ("项目", *years), _rows(_BALANCE, figures, 0)),
        )),
        Section("利润表", (
            Table("利润表（单位：百万元）", ("项目", *years), _rows(_INCOME, figures, 0), False),
            "投资收益主要来自债券利息和分红，其波动与资本市场的走势密切相关。",
        )),
        Section("关键指标", (
            Table("偿付能力和经营指标", ("指标", *years), _ratios(figures, chance, 0), False),
        )),
        Section("分产品情况", (
            Table("分产品保费和赔款（单位：元）", ("产品", "保单数", "保费", "赔款"),
                  _products("zh", chance)),
        )),
        Section("风险管理", (
            f"{name}健康保险每季度进行压力测试，假设利率下行一百个基点、赔付率上升十个百分点。",
            "董事会风险管理委员会审议重大投资，单一交易对手的集中度不得超过净资产的百分之十。",
        )),
        Section("附注", (
            "本报告以人民币列报。会计政策与上一年度一致，没有重大会计差错更正。",
        )),
    )  # fmt: skip
    title = f"{company}{YEAR}年度报告"
    return Report(
        f"annual-{_pinyin(name)}.zh", title, "zh", "financial", date(YEAR, 12, 31), sections
    )


def _english(name: str, chance: random.Random) -> Report:
    figures = _figures(chance)
    company = f"{name} Health Insurance plc"
    branches, staff, growth = (chance.randrange(*r) for r in ((12, 90), (900, 9000), (3, 40)))
    days = chance.randrange(2, 9)
    years = (str(YEAR), str(YEAR - 1))
    sections = (
        Section("About the company", (
            f"{company} has {branches} branches and a staff of {staff}. Claims were settled in "
            f"{days} working days on average.",
            f"The share of customers who renewed rose by {growth / 10:.1f} percentage points.",
        )),
        Section("Balance sheet", (
            f"The table shows what {name} Health owned and owed at the end of the year.",
            Table("Balance sheet (millions)", ("Item", *years), _rows(_BALANCE, figures, 1)),
        )),
        Section("Income statement", (
            Table("Income statement (millions)", ("Item", *years), _rows(_INCOME, figures, 1),
                  False),
            "Investment income is mostly interest and dividends; it moves with the market.",
        )),
        Section("Key ratios", (
            Table("Solvency and operating ratios", ("Ratio", *years), _ratios(figures, chance, 1),
                  False),
        )),
        Section("Business by product", (
            Table("Premiums and claims by product", ("Product", "Policies", "Premiums", "Claims"),
                  _products("en", chance)),
        )),
        Section("Risk management", (
            f"{name} Health runs a stress test every quarter, with interest rates one percentage "
            "point lower and a loss ratio ten points higher.",
            "The risk committee of the board decides on large investments; no single counterparty "
            "may exceed ten per cent of net assets.",
        )),
        Section("Notes", (
            "Amounts are in millions unless stated otherwise. Accounting policies are unchanged.",
        )),
    )  # fmt: skip
    title = f"{company} Annual Report {YEAR}"
    return Report(
        f"annual-{name.lower()}.en", title, "en", "financial", date(YEAR, 12, 31), sections
    )


def _pinyin(name: str) -> str:
    return ("anhe", "beichen", "canghai", "dongli", "fengqiao", "guanlan", "heming", "jinchuan")[
        ZH.index(name)
    ]
