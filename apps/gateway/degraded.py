"""What the customer reads when the assistant cannot answer."""

import re

_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")

# True whether or not the message got through: a retry keeps its message id.
_TEXTS = {
    "zh": "很抱歉，助手现在无法回答。请在几分钟后重新发送这条消息；"
    "同一条投诉重复发送也只会登记一次。",
    "en": "Sorry, the assistant cannot answer right now. Please send this message again in a few"
    " minutes; a complaint that is sent again is recorded only once.",
}


def language_of(query: str, usual: str) -> str:
    """The language to answer in: the query's script, or the customer's `usual` language."""
    if _HAN.search(query):
        return "zh"
    return "en" if re.search(r"[A-Za-z]{2}", query) else usual


def text(language: str) -> str:
    """The degraded reply in `language` ("zh" or "en")."""
    return _TEXTS[language]
