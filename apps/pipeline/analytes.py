"""What a laboratory value is about, in one sentence for people without medical training.

General knowledge, the same for everyone: no threshold, no diagnosis, no advice on treatment.
"""

from apps.pipeline.reply import Fact

_ABOUT = {
    "glucose": (
        "血糖反映身体对糖的利用情况，与饮食、运动和糖代谢有关。",
        "It shows how the body handles sugar and depends on food, exercise and metabolism.",
    ),
    "hba1c": (
        "它反映最近两三个月的平均血糖水平。",
        "It reflects the average blood sugar of the last two to three months.",
    ),
    "total_cholesterol": (
        "它是血液中胆固醇的总量，与饮食和遗传都有关系。",
        "It is all the cholesterol in the blood and depends on food and on family history.",
    ),
    "ldl": (
        "它常被称为“坏胆固醇”，长期偏高会增加血管负担。",
        "It is often called the bad cholesterol; over years, too much strains the blood vessels.",
    ),
    "hdl": (
        "它常被称为“好胆固醇”，帮助把多余的胆固醇运走。",
        "It is often called the good cholesterol, because it carries surplus cholesterol away.",
    ),
    "triglycerides": (
        "它是血液中的脂肪，受近期饮食和饮酒影响较大。",
        "It is fat in the blood and reacts to recent meals and alcohol.",
    ),
    "alt": (
        "它是肝细胞里的一种酶，常用来观察肝脏状况。",
        "It is an enzyme of the liver cells and tells how the liver is doing.",
    ),
    "creatinine": (
        "它由肾脏排出，常用来观察肾功能。",
        "The kidneys remove it, so it tells how well they work.",
    ),
    "uric_acid": (
        "它是身体代谢的产物，由肾脏排出，与饮食有关。",
        "It is a waste product that the kidneys remove and that depends on food.",
    ),
    "haemoglobin": (
        "它是红细胞中运送氧气的蛋白质。",
        "It is the protein in red blood cells that carries oxygen.",
    ),
}


def about(fact: Fact, language: str) -> str:
    """One sentence about the analyte `fact.name`, or "" for one we do not know."""
    return _ABOUT.get(fact.name, ("", ""))[0 if language == "zh" else 1]
