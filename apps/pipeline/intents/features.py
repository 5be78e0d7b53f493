"""A query as a sparse vector: hashed words, word pairs and character n-grams."""

import re
import zlib

import numpy as np
from numpy.typing import NDArray

from apps.pipeline.text import normalise

BUCKETS = 1 << 15
_TOKEN = re.compile("[a-z']+|0+|[\u3400-\u9fff]+")
_DIGIT = re.compile(r"\d")
# Pairs of a traditional character and its simplified form, for words that tell intents apart.
_TRADITIONAL = (
    "訴诉餘余額额醫医療疗險险帳账戶户報报單单檢检驗验體体嗎吗請请問问幫帮詢询還还錢钱維维權权亂乱費费"
    "這这麼么沒没實实過过務务員员態态個个們们條条約约書书裡里淨净產产資资負负債债圖图謝谢見见點点"
    "開开關关說说讀读項项異异標标準准膽胆醇醇蔔卜腎肾臟脏糖糖壓压貧贫範范圍围雜杂門门診诊術术藥药"
    "癌癌後后時时間间間间發发號号碼码處处理理歲岁電电話话網网頁页車车輛辆對对應应嚴严隱隐騙骗賠赔"
    "償偿遲迟誤误壞坏爛烂氣气憤愤換换買买賣卖續续轉转銷销剩剩總总結结數数據据為为種种箭箭頭头須须"
    "質质經经絡络紙纸給给絕绝給给組组細细現现規规記记證证護护議议變变讓让認认讚赞寫写歡欢樂乐"
)
_SIMPLIFIED = str.maketrans(
    {_TRADITIONAL[at]: _TRADITIONAL[at + 1] for at in range(0, len(_TRADITIONAL), 2)}
)


def simplified(text: str) -> str:
    """`text` with the traditional characters above as they are written in simplified Chinese."""
    return text.translate(_SIMPLIFIED)


def vector(text: str, rarity: NDArray[np.float32]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """(buckets i64 [n] ascending, weights f32 [n] of Euclidean length 1) of `text`.

    `rarity` f32 [BUCKETS] says how much each bucket tells (see train.rarity_of)."""
    hashes = [zlib.crc32(gram.encode()) % BUCKETS for gram in grams(text)]
    buckets, counts = np.unique(np.array(hashes, np.int64), return_counts=True)
    weights = (1.0 + np.log(counts)).astype(np.float32) * rarity[buckets]
    length = float(np.linalg.norm(weights))
    return buckets, weights / np.float32(length or 1.0)


def grams(text: str) -> list[str]:
    """The features of `text` by name, repeated as often as they occur."""
    plain = _DIGIT.sub("0", simplified(normalise(text)))
    tokens: list[str] = _TOKEN.findall(plain)
    found = [f"pair {a} {b}" for a, b in zip(["^", *tokens], [*tokens, "$"], strict=True)]
    for token in tokens:
        if token[0] > "\u3400":
            found += _pieces(f"^{token}$", 1, 4)
        else:
            found.append(f"word {token}")
            found += _pieces(f"^{token}$", 3, 5)
    return found


def _pieces(token: str, shortest: int, longest: int) -> list[str]:
    return [
        token[at : at + size]
        for size in range(shortest, longest + 1)
        for at in range(len(token) - size + 1)
    ]
