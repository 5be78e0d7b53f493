"""The intent model on sentences it never saw, in two languages, and on typical hard ones."""

import re
from pathlib import Path

import numpy as np
import pytest

from apps.pipeline.intents import INTENTS
from apps.pipeline.intents.classifier import Classifier
from apps.pipeline.intents.features import BUCKETS, grams, vector
from apps.pipeline.intents.train import HERE, mistakes, polite, read, train
from apps.pipeline.text import language_of


@pytest.fixture(scope="module")
def classifier() -> Classifier:
    return train(read(HERE / "data.tsv"))


def test_held_out_accuracy_is_at_least_95_percent_in_each_language(classifier: Classifier) -> None:
    examples = read(HERE / "heldout.tsv")
    for language in ("zh", "en"):
        some = [example for example in examples if example.language == language]
        wrong = mistakes(classifier, some)
        assert len(wrong) <= 0.05 * len(some), wrong


def test_no_held_out_sentence_was_trained_on() -> None:
    seen = {re.sub(r"\W", "", one.text).casefold() for one in read(HERE / "data.tsv")}
    held = [re.sub(r"\W", "", one.text).casefold() for one in read(HERE / "heldout.tsv")]
    assert not seen.intersection(held)
    assert len(held) == len(set(held))


def test_the_data_is_balanced_and_its_languages_are_right() -> None:
    examples = read(HERE / "data.tsv")
    for intent in INTENTS:
        for language in ("zh", "en"):
            some = [e for e in examples if (e.intent, e.language) == (intent, language)]
            assert len(some) >= 60
    assert [e.text for e in examples if language_of(e.text) != e.language] == []
    assert len({e.text for e in examples}) == len(examples)


@pytest.mark.parametrize(
    ("text", "intent"),
    [
        ("My balance is wrong again, I want to complain", "complaint"),
        ("余额又错了,我要投诉", "complaint"),
        ("我要投訴", "complaint"),
        ("You lost my lab report, this is unacceptable", "complaint"),
        ("I do not want to complain, what is my balance?", "insurance_balance"),
        ("不是投诉,就查一下余额", "insurance_balance"),
        ("余额", "insurance_balance"),
        ("balance?", "insurance_balance"),
        ("BALANCE", "insurance_balance"),
        ("帮我 check 一下医保 balance", "insurance_balance"),
        ("化验单", "lab_report"),
        ("化驗單正常嗎", "lab_report"),
        ("lab results", "lab_report"),
        ("合同里怎么写投诉流程", "document_question"),
        ("What does the policy document say about lab tests?", "document_question"),
        ("资产总计是多少？", "document_question"),
        ("总资产", "document_question"),
        ("去年净利润多少？", "document_question"),
        ("安和健康保险的资产总计是多少？", "document_question"),
        ("沧海健康保险２０２５年的资产总计", "document_question"),
        ("What are the total assets?", "document_question"),
        ("net profit 2025", "document_question"),
        ("How much profit did Beacon make?", "document_question"),
        ("狂犬疫苗能报销吗？", "document_question"),
        ("Is a caesarean section covered?", "document_question"),
        ("我的免赔额还剩多少？", "insurance_balance"),
        ("What is left of my deductible?", "insurance_balance"),
        ("理赔款三个月没到账,太过分了", "complaint"),
        ("hi", "other"),
        ("你好", "other"),
        ("谢谢", "other"),
        ("no complaints, great service", "other"),
    ],
)
def test_typical_hard_sentences(classifier: Classifier, text: str, intent: str) -> None:
    assert classifier.intent(text)[0] == intent


@pytest.mark.parametrize("text", ["", "😀", "\0", "ꙮ" * 50, "x" * 4000, "余" * 4000])
def test_any_text_gets_an_intent_and_a_probability(classifier: Classifier, text: str) -> None:
    intent, sure = classifier.intent(text)
    assert intent in INTENTS
    assert 0.0 <= sure <= 1.0
    assert abs(classifier.probabilities(text).sum() - 1) < 1e-9


def test_good_manners_are_taught_without_changing_the_wish() -> None:
    examples = read(HERE / "data.tsv")
    more = polite(examples)
    assert len(more) > 300
    assert {example.intent for example in more} == set(INTENTS) - {"other"}
    assert [e.text for e in more if language_of(e.text) != e.language] == []


def test_training_is_deterministic() -> None:
    some = read(HERE / "data.tsv")[::7]
    first, second = train(some), train(some)
    assert np.array_equal(first.weights, second.weights)
    assert np.array_equal(first.bias, second.bias)


def test_saved_weights_answer_as_the_trained_ones(classifier: Classifier, tmp_path: Path) -> None:
    classifier.save(tmp_path / "deep" / "intents.npz")
    loaded = Classifier.load(tmp_path / "deep" / "intents.npz")
    for example in read(HERE / "heldout.tsv"):
        assert loaded.intent(example.text)[0] == classifier.intent(example.text)[0]
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["intents.npz"]


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04 broken"])
def test_a_file_that_is_no_model_is_refused_in_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "weights.npz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="not an intent model") as raised:
        Classifier.load(path)
    assert "\n" not in str(raised.value)


def test_weights_of_other_features_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "weights.npz"
    np.savez(path, rarity=np.ones(8), weights=np.zeros((8, 5)), bias=np.zeros(5))
    with pytest.raises(ValueError, match="train it again"):
        Classifier.load(path)


def test_a_bad_line_of_data_is_named(tmp_path: Path) -> None:
    path = tmp_path / "data.tsv"
    path.write_text("complaint\ten\tbad\nbalance\ten\tno such intent\n")
    with pytest.raises(ValueError, match=r"data\.tsv:2: want INTENT"):
        read(path)


def test_traditional_and_simplified_text_have_the_same_features() -> None:
    assert grams("我的醫療帳戶餘額還有多少錢") == grams("我的医疗账户余额还有多少钱")
    assert grams("ＢＡＬＡＮＣＥ 2024") == grams("balance 1999")


def test_a_vector_has_length_one() -> None:
    even = np.ones(BUCKETS, np.float32)
    buckets, weights = vector("what is my balance, my balance", even)
    assert list(buckets) == sorted(set(buckets))
    assert float(np.linalg.norm(weights)) == pytest.approx(1.0, abs=1e-6)
    assert len(vector("!!!", even)[0]) <= 1


def test_an_unsure_answer_is_other() -> None:
    even = np.ones(BUCKETS, np.float32)
    knows_nothing = Classifier(even, np.zeros((BUCKETS, 5), np.float32), np.zeros(5, np.float32))
    intent, sure = knows_nothing.intent("I want to complain")
    assert intent == "other"
    assert abs(sure - 0.2) < 1e-9
