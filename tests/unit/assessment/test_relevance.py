"""Relevance: whether a supported draft answers what was asked, by words and by the judge."""

from __future__ import annotations

import pytest

from tests.unit.assessment.samples import ScriptedJudge, asked, passage
from worker.assessment import (
    Assessment,
    Evidence,
    NeedsJudge,
    assess_without_judge,
    assessment_from_answers,
    early_refusal,
    read_answer,
    unavailable_answer,
)
from worker.assessment.judge import Aspect
from worker.assessment.policies.calibrated_policy import CalibratedPolicy
from worker.assessment.relevance.asked import AnswerKind, asked_for, expected_kind
from worker.assessment.relevance.matching import Words, typing_errors
from worker.model import Action, Message, MessageRole, Tier

POLICY = CalibratedPolicy()
SHOP = (
    "The shop is open from 9 am to 6 pm on weekdays and until 2 pm on Saturdays. It is closed on Sundays. "
    "Standard delivery takes three to five working days and costs 4.90 euros. You can return any item "
    "within 30 days. Maria Lopez founded the shop in 1998 at 12 Mill Street."
)
VIDEO = (
    "The music video was uploaded on 15 July 2012 by the label. It passed 2 billion views in May 2014, "
    "because it spread through social networks."
)
QUAN = (
    "Quán mở cửa từ 7 giờ sáng đến 10 giờ tối mỗi ngày. Cà phê sữa đá giá 29.000 đồng. Quán ở số 45 đường Lê "
    "Lợi. Khách hàng được đổi hàng trong vòng 14 ngày kể từ ngày mua."
)
SHUDIAN = "书店每天上午九点开门，晚上八点关门。会员卡一年六十元。书店位于南京路二十八号。老板叫王芳。"
LADEN = (
    "Wir haben montags bis freitags von 9 bis 18 Uhr geöffnet. Eine Inspektion kostet 59 Euro und dauert "
    "zwei Tage. Die Werkstatt liegt in der Bahnhofstraße 3. Meister ist Jonas Weber."
)
MUSEE = (
    "Le musée est ouvert du mardi au dimanche, de 10 h à 18 h. L'entrée coûte 12 euros. Claire Martin est la "
    "directrice."
)


def look(
    question: str,
    text: str,
    draft: str,
    history: tuple[Message, ...] = (),
    policy: CalibratedPolicy = POLICY,
) -> Assessment | NeedsJudge:
    """The assessment of a draft by its words, or the questions to the judge."""
    found = Evidence(passages=(passage(text),), history=history)
    return assess_without_judge(query=question, evidence=found, draft=draft, policy=policy)


def side(found: Assessment | NeedsJudge) -> str:
    """What words say about relevance: answers, doubtful or irrelevant."""
    if isinstance(found, NeedsJudge):
        return "doubtful" if any(q.aspect is Aspect.RELEVANCE for q in found.questions) else "answers"
    return "irrelevant" if "irrelevant" in found.failed_checks else "answers"


@pytest.mark.parametrize(
    ("question", "text", "draft"),
    [
        ("How long does delivery take?", SHOP, "Standard delivery takes three to five working days."),
        ("Who founded the shop?", SHOP, "Maria Lopez founded the shop in 1998."),
        ("Can I return an item?", SHOP, "Yes, you can return any item within 30 days."),
        (
            "Why does the video have 2 billion views?",
            VIDEO,
            "The video passed 2 billion views because it spread.",
        ),
        ("Cà phê sữa đá giá bao nhiêu?", QUAN, "Cà phê sữa đá giá 29.000 đồng."),
        ("Quan mo cua may gio?", QUAN, "Quán mở cửa từ 7 giờ sáng."),
        ("书店在哪里？", SHUDIAN, "书店位于南京路二十八号。"),
        ("会员卡多少钱？", SHUDIAN, "会员卡一年六十元。"),
        ("Was kostet eine Inspektion?", LADEN, "Eine Inspektion kostet 59 Euro."),
        ("Combien coûte l'entrée du musée ?", MUSEE, "L'entrée du musée coûte 12 euros."),
    ],
)
def test_an_answer_to_its_question_is_relevant(question: str, text: str, draft: str) -> None:
    """The same topic and the kind of answer asked for."""
    assert side(look(question, text, draft)) == "answers"


@pytest.mark.parametrize(
    ("question", "text", "draft"),
    [
        (
            "How do I cancel my insurance contract?",
            SHOP,
            "Standard delivery takes three to five working days.",
        ),
        ("Why is there 2 billion views", VIDEO, "The music video was uploaded on 15 July 2012 by the label."),
        ("Do you repair broken bicycles?", SHOP, "Maria Lopez founded the shop in 1998 at 12 Mill Street."),
        ("How do I find the nearest station?", SHOP, "To find the nearest station"),
        ("What are the delivery costs to Norway?", SHOP, "Delivery costs to Norway are:"),
        ("Xe buýt số 8 chạy tuyến nào?", QUAN, "Khách hàng được đổi hàng trong vòng 14 ngày kể từ ngày mua."),
        (
            "怎样申请签证？",
            SHUDIAN,
            "书店每天上午九点开门，晚上八点关门，位于南京路二十八号，会员卡一年六十元。",
        ),
        ("Wie beantrage ich einen Reisepass?", LADEN, "Die Werkstatt liegt in der Bahnhofstraße 3."),
        (
            "Comment réparer mon vélo électrique ?",
            MUSEE,
            "Le musée est ouvert du mardi au dimanche, de 10 h à 18 h.",
        ),
    ],
)
def test_a_supported_answer_to_another_question_is_not_sent(question: str, text: str, draft: str) -> None:
    """Every fact is in the passages, and the confidence is low all the same."""
    found = look(question, text, draft)
    assessed = found if isinstance(found, Assessment) else _unjudged(found)

    assert side(found) != "answers"
    assert assessed.action is not Action.SEND
    assert assessed.relevance is not None
    assert assessed.confidence <= assessed.relevance < 0.9


def _unjudged(needs: NeedsJudge) -> Assessment:
    return assessment_from_answers(needs, [unavailable_answer("none") for _ in needs.questions])


@pytest.mark.parametrize(
    ("question", "draft"),
    [
        ("Are you still there at five?", "Yes, until 6 pm."),
        ("What do I pay for shipping?", "It costs 4.90 euros."),
        ("Is anyone in on Sundays?", "No."),
        ("How soon will my order arrive?", "Three to five working days."),
        ("Whose business is it?", "Maria Lopez."),
        ("Where are you located?", "12 Mill Street."),
    ],
)
def test_a_short_answer_need_not_repeat_a_word_of_the_question(question: str, draft: str) -> None:
    """In doubt it is put to the judge; words alone never refuse it."""
    assert side(look(question, SHOP, draft)) != "irrelevant"


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("Who founded it?", AnswerKind.PERSON),
        ("Where is the shop?", AnswerKind.PLACE),
        ("When do you open?", AnswerKind.TIME),
        ("Tell me how many there are", AnswerKind.AMOUNT),
        ("Why is it closed?", AnswerKind.REASON),
        ("Can I pay by card?", AnswerKind.YES_NO),
        ("What is AI?", AnswerKind.THING),
        ("when you are ill, who pays", AnswerKind.TIME),
        ("Ai là chủ quán?", AnswerKind.PERSON),
        ("Quán mở cửa mấy giờ?", AnswerKind.TIME),
        ("Tại sao quán đóng cửa?", AnswerKind.REASON),
        ("书店几点关门？", AnswerKind.TIME),
        ("谁是老板？", AnswerKind.PERSON),
        ("周一营业吗？", AnswerKind.YES_NO),
        ("Warum ist zu?", AnswerKind.REASON),
        ("¿Cuánto cuesta?", AnswerKind.AMOUNT),
        ("Où est le musée ?", AnswerKind.PLACE),
        ("blue shirt", None),
    ],
)
def test_a_question_word_asks_for_a_kind_of_answer(question: str, kind: AnswerKind | None) -> None:
    """The first question word counts, where its language has it."""
    assert expected_kind(question) is kind


def turn(*texts: str) -> tuple[Message, ...]:
    """Turns of a conversation, the author's first."""
    roles = (MessageRole.USER, MessageRole.ASSISTANT)
    return tuple(Message(role=roles[at % 2], text=text) for at, text in enumerate(texts))


@pytest.mark.parametrize(
    ("question", "before", "draft"),
    [
        ("And on Saturday?", "When is the shop open?", "The shop is open until 2 pm on Saturdays."),
        ("What about Sundays?", "When is the shop open?", "It is closed on Sundays."),
    ],
)
def test_a_follow_up_question_is_read_with_the_turn_before(question: str, before: str, draft: str) -> None:
    """The earlier question supplies topic and kind of answer."""
    history = turn(before, "From 9 am to 6 pm on weekdays.")
    found = asked_for(question, history)

    assert found is not None
    assert (found.follow_up, found.kind) == (True, AnswerKind.TIME)
    assert side(look(question, SHOP, draft, history)) == "answers"


def test_the_answer_to_the_turn_before_is_not_sent_again() -> None:
    """It was supported and relevant, a turn ago."""
    answer = "Standard delivery takes three to five working days and costs 4.90 euros."
    history = turn("How long does delivery take?", answer)
    found = look("Who founded the shop?", SHOP, answer, history)

    assert isinstance(found, Assessment)
    assert (found.category, found.action) == ("irrelevant", Action.ESCALATE)
    assert "the draft repeats the reply before" in found.reasons


@pytest.mark.parametrize(
    "query",
    ["", "Summarise the following news within 116 words:", "Tóm tắt văn bản sau", "请总结以下内容", "???"],
)
def test_without_a_question_relevance_is_not_measured(query: str) -> None:
    """A task, or no word at all: the confidence is the support."""
    found = look(query, SHOP, "The shop is open from 9 am to 6 pm on weekdays and closed on Sundays.")
    assessed = found if isinstance(found, Assessment) else _unjudged(found)

    assert assessed.relevance is None
    assert assessed.confidence == assessed.support
    assert "irrelevant" not in (*assessed.passed_checks, *assessed.failed_checks)


DOUBTFUL = ("Whose business is it?", "Maria Lopez founded it.")


@pytest.mark.parametrize(
    ("score", "tier", "action", "category"),
    [
        (0.9, Tier.HIGH, Action.SEND, ""),
        (0.1, Tier.LOW, Action.ESCALATE, "irrelevant"),
        (None, Tier.MEDIUM, Action.ESCALATE, "relevance_judge_unavailable"),
    ],
)
async def test_the_judge_decides_a_doubtful_relevance(
    score: float | None, tier: Tier, action: Action, category: str
) -> None:
    """One question about the whole draft; a failed call is never a score."""
    judge, (question, draft) = ScriptedJudge(score), DOUBTFUL
    found = await asked(
        query=question, evidence=Evidence(passages=(passage(SHOP),)), draft=draft, policy=POLICY, judge=judge
    )

    assert [(q.aspect, q.claim) for q in judge.asked] == [(Aspect.RELEVANCE, draft)]
    assert (found.tier, found.action, found.category) == (tier, action, category)
    assert found.signals.get("judge_relevance") == score


def test_support_and_relevance_are_judged_apart() -> None:
    """A good answer of the judge about one never hides a bad one about the other."""
    needs = look("Whose business is it?", SHOP, "Maria Lopez founded it. She speaks Danish and Finnish.")
    assert isinstance(needs, NeedsJudge)
    aspects = [q.aspect for q in needs.questions]
    good_support = [read_answer(0.1 if a is Aspect.RELEVANCE else 0.9) for a in aspects]
    good_relevance = [read_answer(0.9 if a is Aspect.RELEVANCE else 0.1) for a in aspects]

    assert {Aspect.SENTENCE, Aspect.RELEVANCE} == set(aspects)
    assert assessment_from_answers(needs, good_support).failed_checks == ("irrelevant",)
    assert assessment_from_answers(needs, good_relevance).failed_checks == ("ungrounded",)


def test_an_account_can_measure_support_only() -> None:
    """``check_relevance: false`` is the confidence of earlier releases."""
    draft = "The music video was uploaded on 15 July 2012 by the label."
    policy = CalibratedPolicy(check_relevance=False)
    found = look("Why is there 2 billion views", VIDEO, draft, policy=policy)

    assert isinstance(found, Assessment)
    assert (found.action, found.relevance) == (Action.SEND, None)


@pytest.mark.parametrize(
    ("query", "refused"),
    [
        ("Which planets have rings?", True),
        ("Wie beantrage ich einen Reisepass?", True),
        ("How long does delivery take?", False),
        ("Is delivery to the planet Saturn possible?", False),
        ("Help!", False),
        ("I want to talk to a manager about the planets", False),
        ("Can I please speak to a human?", False),
        ("My blender exploded yesterday.", False),
    ],
)
def test_passages_that_share_only_chance_words_are_no_evidence(query: str, *, refused: bool) -> None:
    """No model is paid for them; one topic word in common is enough to try."""
    found = early_refusal(query=query, evidence=Evidence(passages=(passage(SHOP),)), policy=POLICY)

    assert (found is not None) is refused
    assert found is None or found.category == "no_evidence"


@pytest.mark.parametrize(
    ("word", "text", "held"),
    [
        ("kosten", "versandkosten", 0.8),
        ("cancellation", "cancel", 0.8),
        ("exercize", "exercise", 0.8),
        ("huong", "hướng", 1.0),
        ("brick", "bread", 0.0),
        ("2019", "2021", 0.0),
    ],
)
def test_a_word_is_found_by_its_stem_in_compounds_and_with_typing_errors(
    word: str, text: str, held: float
) -> None:
    """A number is found exactly or not at all."""
    assert Words([text]).holds(word) == held


@pytest.mark.parametrize(
    ("one", "other", "errors"), [("abcd", "abdc", 1), ("abcd", "abcd", 0), ("ab", "xy", 2)]
)
def test_typing_errors_are_counted(one: str, other: str, errors: int) -> None:
    """Two swapped letters are one error."""
    assert typing_errors(one, other, 3) == errors


def test_words_of_any_length_are_compared_at_once() -> None:
    """A question and a passage of one endless word each cost no time."""
    found = look("x" + "ab" * 20_000, "x" + "ba" * 20_000, "x" + "ba" * 20_000)

    assert side(found) != "answers"
