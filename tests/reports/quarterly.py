"""Long tables, over several pages, with what real ones have: strokes, brackets, remarks, gaps."""

from datetime import date

from apps.loader.samples.report import Report, Section, Table

ROWS = 60
PROSE = {
    "zh": (
        "第三季度的赔款多于第二季度，因为医院比过去更早寄出账单，新的线上平台也让客户更容易提交申请，平均处理时间缩短了一天。",
        "保费收入同样增长，但增长慢于赔款，因此赔付率上升两个百分点，综合成本率上升三个百分点，董事会在秋季会议上讨论了原因和对策。",
    ),
    "en": (
        "The insurer settled more claims in the third quarter than in the second, because the "
        "hospitals sent their bills earlier and the new portal made it easier to file them.",
        "Premium income rose as well, though more slowly than the claims, so that the loss ratio "
        "went up by two points and the combined ratio by three, which the board discussed.",
    ),
}
WORDS = {
    "zh": ("季度理赔统计", "理赔情况", "机构", "受理", "已付", "变动", "比率", "分公司",
           "（账单迟到，下季度补记入账）"),
    "en": ("Quarterly Claims", "Claims", "Branch", "Filed", "Paid", "Change", "Ratio", "Branch",
           " (late bills, to be booked next quarter)"),
}  # fmt: skip


def quarterly(language: str) -> Report:
    """A report of two long tables, one ruled and one plain."""
    title, about, *header, branch, remark = WORDS[language]
    sections = tuple(
        Section(
            f"{about} {part}",
            (*PROSE[language], _table(f"{about} {part}", header, branch, remark, part)),
        )
        for part in (1, 2)
    )
    name = f"quarterly.{language}"
    kept = "zh" if language == "zh" else "en"
    return Report(name, title, kept, "claims", date(2026, 10, 15), sections)


def _table(title: str, header: list[str], branch: str, remark: str, part: int) -> Table:
    rows = []
    for at in range(1, ROWS + 1):
        label = f"{branch} {at}{remark if at % 9 == 0 else ''}"
        paid = "—" if at % 7 == 0 else f"{at * part * 987.25:,.2f}"
        change = f"({at * 3:,}.50)" if at % 4 else f"{at * 11:,}.00"
        ratio = f"{at * 1.37 % 100:.2f}%"
        rows.append((label, f"{at * part * 1234.5:,.2f}", paid, change, ratio))
    return Table(title, tuple(header), tuple(rows), ruled=part == 1)
