"""The policy ``calibrated``: verbatim evidence or one reading decides; without either a draft is held."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from tests.support.fakes import FakeJudge
from tests.support.readings import reading, said
from tests.unit.assessment.samples import RETURNS, Answer, asked, assessed, calls_for, evidence
from worker.assessment import Evidence, early_refusal
from worker.assessment.policies.calibrated import CalibratedPolicy
from worker.assessment.text.words import split_sentences
from worker.errors import ModelRejected, ModelUnavailable
from worker.model import Action, Completion, Tier, Verdict

POLICY = CalibratedPolicy()
COPIED = "You can return any item within 30 days of delivery [1]."
ASKED_IN_ITS_WORDS = "Can I return any item?"
PARAPHRASE = "Yes, send it back up to 30 days after it reached you [1]."
QUOTE = "You can return any item within 30 days of delivery"
TWO = f"{PARAPHRASE} The money is on your card 5 working days later [1]."
SECOND_QUOTE = "Refunds take 5 working days to arrive on your card"


def test_a_copied_draft_is_sent_without_a_judge() -> None:
    """A whole sentence of a passage that has the words of the question; with a judge it is read."""
    found = assessed(COPIED, POLICY, query=ASKED_IN_ITS_WORDS)

    assert calls_for(COPIED, POLICY, query=ASKED_IN_ITS_WORDS) == 1
    assert (found.action, found.tier, found.policy) == (Action.SEND, Tier.HIGH, "calibrated@3")
    assert (found.failed_checks, found.passed_checks[0]) == ((), "verbatim")
    assert found.confidence > 0.9


@pytest.mark.parametrize(
    ("draft", "text", "query"),
    [
        ("You can return any item within 90 days of delivery.", RETURNS, ASKED_IN_ITS_WORDS),
        ("You cannot return any item within 30 days of delivery.", RETURNS, ASKED_IN_ITS_WORDS),
        ("You can return any item.", RETURNS, ASKED_IN_ITS_WORDS),
        (COPIED, RETURNS, "Can I return my bicycle?"),
        (f"{COPIED} The shop has a private jet in Norway.", RETURNS, ASKED_IN_ITS_WORDS),
        ("Oslo", RETURNS, ASKED_IN_ITS_WORDS),
        (
            "You can return any item.",
            "You can return any item. However, opened software is not taken back.",
            ASKED_IN_ITS_WORDS,
        ),
    ],
)
def test_a_draft_that_differs_from_the_passage_is_read_once(draft: str, text: str, query: str) -> None:
    """Another figure, a negation, a cut condition, an addition, or a question with other words."""
    assert calls_for(draft, POLICY, evidence(0.9, text=text), query=query) == 1


def test_a_supported_draft_with_quotes_is_sent() -> None:
    """Its confidence is support times relevance, and the reading stands in the assessment."""
    found = assessed(
        TWO,
        POLICY,
        answer=reading(
            said("supported", QUOTE, probability=0.9),
            said("supported", SECOND_QUOTE, probability=0.8),
            relevance=0.9,
            left_out="who pays the postage",
        ),
    )

    assert (found.action, found.tier, found.failed_checks) == (Action.SEND, Tier.HIGH, ())
    assert found.confidence == pytest.approx(0.72)
    assert (found.support, found.relevance) == (0.8, 0.9)
    assert [each.verdict for each in found.sentences] == [Verdict.SUPPORTED] * 2
    assert [RETURNS[q.start : q.end] for each in found.sentences for q in each.quotes] == [
        QUOTE,
        SECOND_QUOTE,
    ]
    assert [TWO[each.start : each.end].strip()[:10] for each in found.sentences] == [
        "Yes, send ",
        "The money ",
    ]
    assert found.left_out == "who pays the postage"


@pytest.mark.parametrize(
    ("draft", "answer", "category", "reason"),
    [
        (
            PARAPHRASE,
            reading(said("contradicted", QUOTE, probability=0.02)),
            "ungrounded",
            "the passages do not support every sentence",
        ),
        (
            PARAPHRASE,
            reading(said("not_mentioned", probability=0.0)),
            "ungrounded",
            "the passages do not support every sentence",
        ),
        (
            TWO,
            reading(said("supported", QUOTE), said("not_mentioned", probability=0.1)),
            "ungrounded",
            "the passages do not support every sentence",
        ),
        (
            PARAPHRASE,
            reading(said("supported", QUOTE, probability=0.3)),
            "ungrounded",
            "the passages do not support every sentence",
        ),
        (
            PARAPHRASE,
            reading(said("supported")),
            "unquoted",
            "a sentence has no quote that stands in the passages",
        ),
        (
            "Yes, send it back up to 90 days after it reached you.",
            reading(said("supported", QUOTE)),
            "contested",
            "the quotes do not bear out: number",
        ),
        (
            PARAPHRASE,
            reading(said("supported", QUOTE), relevance=0.1),
            "irrelevant",
            "the draft does not answer what was asked",
        ),
        (
            PARAPHRASE,
            reading(said("supported", QUOTE, probability=0.6), relevance=0.6),
            "unsure",
            "the judge is not sure enough",
        ),
        (
            "The jet is in Norway.",
            reading(said("no_claim", probability=0.0)),
            "ungrounded",
            "the passages do not support every sentence",
        ),
        (
            PARAPHRASE,
            reading(said("promise", probability=0.0)),
            "promised_action",
            "the draft promises an action that is not performed",
        ),
    ],
)
def test_a_reading_refuses_by_name(draft: str, answer: str, category: str, reason: str) -> None:
    """The account's low action follows; the reason says what the judge or a fact found."""
    found = assessed(draft, POLICY, answer=answer)

    assert (found.category, found.failed_checks[0]) == (category, category)
    assert any(each.startswith(reason) for each in found.reasons), found.reasons
    assert (found.action, found.tier) == (Action.ESCALATE, Tier.LOW)


@pytest.mark.parametrize("action", [Action.ESCALATE, Action.SILENCE, Action.FALLBACK])
def test_a_refused_draft_gets_the_account_s_low_action(action: Action) -> None:
    """Only a fallback has a text, in the language of the question."""
    found = assessed(
        "Gửi lại trong 90 ngày.",
        CalibratedPolicy(low_action=action),
        query="Chính sách đổi trả hàng của cửa hàng là gì vậy?",
        answer=reading(said("not_mentioned", probability=0.0)),
    )

    assert found.action is action
    assert str(found.fallback_text).startswith("Tôi không tìm thấy") is (action is Action.FALLBACK)


UNREAD: tuple[tuple[Answer | None, str], ...] = (
    (None, "judge_off"),
    (ModelUnavailable("connection refused"), "judge_unavailable"),
    (ModelRejected("no", status=400), "judge_unavailable"),
    (Completion(text="", model="j", refusal="I will not."), "judge_unavailable"),
    ("", "judge_answer_empty"),
    (" \n", "judge_answer_empty"),
    ("It looks fine to me.", "judge_answer_is_not_json"),
    ("1.0", "judge_answer_is_not_json"),
    ("{" * 100_000, "judge_answer_is_not_json"),
    ("[]", "judge_answer_is_not_json"),
    ('{"relevance": 1.0}', "judge_answer_has_no_sentences"),
    ('{"sentences": "all fine", "relevance": 1.0}', "judge_answer_has_no_sentences"),
    (reading({"quotes": [QUOTE]}), "judge_answer_has_no_sentences"),
    (reading(said("yes", QUOTE)), "judge_answer_has_no_sentences"),
    (reading(), "judge_answer_misses_a_sentence"),
    (reading(said("supported", QUOTE, number=2)), "judge_answer_misses_a_sentence"),
    (reading("supported"), "judge_answer_misses_a_sentence"),
    (reading(said("supported", QUOTE), relevance=None), "judge_answer_has_no_relevance"),
    (reading(said("supported", QUOTE), relevance="yes"), "judge_answer_has_no_relevance"),
    (reading(said("supported", QUOTE), relevance=True), "judge_answer_has_no_relevance"),
    (reading(said("supported", QUOTE), relevance=7), "judge_answer_out_of_range"),
    (reading(said("supported", QUOTE), relevance=float("nan")), "judge_answer_out_of_range"),
    (reading(said("supported", QUOTE), relevance="inf"), "judge_answer_out_of_range"),
    (reading(said("supported", QUOTE, probability=7)), "judge_answer_out_of_range"),
    (reading(said("supported", QUOTE, probability=-0.1)), "judge_answer_out_of_range"),
    (reading(said("supported", QUOTE, probability=float("nan"))), "judge_answer_out_of_range"),
    (reading(said("supported", QUOTE) | {"probability": "yes"}), "judge_answer_out_of_range"),
)


@pytest.mark.parametrize(("answer", "outcome"), UNREAD)
def test_a_draft_without_a_usable_reading_is_held(answer: Answer | None, outcome: str) -> None:
    """The outcome has its name and is never a score."""
    found = assessed(PARAPHRASE, POLICY, answer=answer)

    assert (found.action, found.tier) == (Action.HOLD, Tier.MEDIUM)
    assert (found.category, found.failed_checks) == (outcome, (outcome,))
    assert (found.confidence, found.support, found.relevance) == (0.0, None, None)
    assert found.sentences == ()
    assert outcome in found.reasons[0]


@pytest.mark.parametrize("action", [Action.ESCALATE, Action.SILENCE, Action.SEND, Action.FALLBACK])
def test_what_becomes_of_an_unread_draft_is_the_account_s_choice(action: Action) -> None:
    """Held by default; only a fallback has a text."""
    found = assessed(
        PARAPHRASE, CalibratedPolicy(undecided_action=action), answer=ModelUnavailable("connection refused")
    )

    assert (found.category, found.action) == ("judge_unavailable", action)
    assert (found.fallback_text is not None) is (action is Action.FALLBACK)


@pytest.mark.parametrize("away", [None, ModelUnavailable("down")])
def test_a_copied_draft_is_sent_while_the_judge_is_away(away: Exception | None) -> None:
    """Verbatim evidence needs no reader."""
    assert assessed(COPIED, POLICY, query=ASKED_IN_ITS_WORDS, answer=away).action is Action.SEND


@pytest.mark.parametrize(
    ("probability", "relevance", "send_at", "sent"),
    [
        (0.5, 1.0, 0.5, True),
        (0.49, 1.0, 0.5, False),
        (1.0, 0.49, 0.5, False),
        (0.9, 0.9, 0.8, True),
        (0.9, 0.88, 0.8, False),
        (1.0, 1.0, 1.0, True),
    ],
)
def test_send_at_is_a_lower_bound_of_the_confidence(
    probability: float, relevance: float, send_at: float, *, sent: bool
) -> None:
    """Of support times relevance."""
    answer = reading(said("supported", QUOTE, probability=probability), relevance=relevance)
    found = assessed(PARAPHRASE, CalibratedPolicy(send_at=send_at), answer=answer)

    assert (found.action is Action.SEND) is sent
    assert found.diagnostics == {"send_at": send_at}


def test_relevance_need_not_count() -> None:
    """With ``check_relevance`` off the confidence is the support, and no relevance is stored."""
    policy = CalibratedPolicy(check_relevance=False)
    found = assessed(PARAPHRASE, policy, answer=reading(said("supported", QUOTE), relevance=0.0))

    assert (found.action, found.confidence, found.relevance) == (Action.SEND, 0.97, None)


@pytest.mark.parametrize(
    ("draft", "action", "category"),
    [
        (PARAPHRASE, Action.SEND, ""),
        (PARAPHRASE.replace(" [1]", ""), Action.ESCALATE, "uncited"),
        (COPIED, Action.SEND, ""),
        (COPIED.replace(" [1]", ""), Action.ESCALATE, "uncited"),
    ],
)
def test_an_account_may_require_citations(draft: str, action: Action, category: str) -> None:
    """A draft that cites nothing is refused, even a copied one."""
    found = assessed(
        draft,
        CalibratedPolicy(require_citations=True),
        query=ASKED_IN_ITS_WORDS,
        answer=reading(said("supported", QUOTE)),
    )

    assert (found.action, found.category) == (action, category)


def test_courtesies_beside_a_supported_sentence_do_not_lower_the_support() -> None:
    """A draft of courtesies alone is not supported by them."""
    kind = f"I am sorry to hear that. {PARAPHRASE}"
    answer = reading(said("no_claim", probability=0.0), said("supported", QUOTE))
    found = assessed(kind, POLICY, answer=answer)
    alone = assessed(
        "I am sorry to hear that your lamp broke.", POLICY, answer=reading(said("no_claim", probability=0.0))
    )

    assert (found.action, found.sentences[0].support) == (Action.SEND, None)
    assert (alone.action, alone.support) == (Action.ESCALATE, 0.0)


@pytest.mark.parametrize(
    ("courtesy", "nothing"),
    [
        ("We're sorry to read that.", True),
        ("I'm sorry it still isn't right.", True),
        ("I am sorry that this happened.", True),
        ("I'm really sorry your item arrived damaged!", True),
        ("Es tut mir leid, dass Ihr Artikel kaputt ankam.", True),
        ("I'm sorry your item cannot be returned.", False),
        ("Here is what to do with your item:", True),
        ("All items within 90 days:", False),
        ("Option 2:", True),
        ("**Option 2:**", True),
        ("For anything else please ask our team.", True),
        ("Am besten fragen Sie unser Team nach dem Artikel.", True),
        ("Si vous avez d'autres questions, n'hésitez pas !", True),
        ("Başka bir sorunuz olursa yardımcı olmaktan memnuniyet duyarız.", True),
        ("Enjoy your delivery!", True),
        ("ご来店をお待ちしております。", True),
        ("Bei weiteren Fragen stehe ich Ihnen gerne zur Verfügung.", True),
        ("Vielen Dank für Ihre Nachricht.", True),
        ("Please don't hesitate to ask.", True),
        ("We'd love to see you soon.", True),
        ("Siento mucho las molestias.", True),
        ("W razie pytań proszę pisać.", True),
        ("ご不便をおかけして申し訳ございません。", True),
        ("よろしくお願いいたします。", True),
        ("無料です。", False),
        ("Enjoy your delivery, it is free!", False),
        ("Ja, gerne!", True),
        ("Returns are free.", False),
        ("I'm sorry, it is closed on Sundays.", False),
        ("Sorry, you cannot return it.", False),
    ],
)
def test_courtesies_state_nothing(courtesy: str, nothing: bool) -> None:
    """So do headings, referrals and wishes; a fact behind the word of regret needs a passage."""
    answer = reading(said("no_claim", probability=0.0), said("supported", QUOTE))
    found = assessed(f"{courtesy}\n{PARAPHRASE}", POLICY, answer=answer)

    assert (found.action is Action.SEND) is nothing


@pytest.mark.parametrize(
    ("heading", "nothing"), [("Prices 2026", True), ("**Prices 2026:**", True), ("Prices 2027", False)]
)
def test_a_heading_of_the_documents_states_nothing(heading: str, nothing: bool) -> None:
    """Its number stands there."""
    shop = evidence(0.9)
    given = replace(shop, passages=(replace(shop.passages[0], title="Shop › Prices 2026"),))
    answer = reading(said("no_claim", probability=0.0), said("supported", QUOTE))
    found = assessed(f"{heading}\n{PARAPHRASE}", POLICY, given, answer=answer)

    assert (found.action is Action.SEND) is nothing


@pytest.mark.parametrize(
    ("draft", "sent"),
    [
        ("Könnten Sie mir bitte Ihre Bestellnummer nennen?", True),
        ("Das tut mir leid. Welche Lampe meinen Sie?", True),
        ("Hangi ürünü soruyorsunuz?", True),
        ("أي منتج تقصد؟", True),
        ("Könnten Sie 90 Tage warten?", False),
        ("Do you mean the Zaphod?", False),
        ("Ja, natürlich. Wie ist Ihre Bestellnummer?", False),
        ("Erledigt! Haben Sie noch Fragen?", False),
        ("Das tut mir leid.", False),
    ],
)
@pytest.mark.parametrize("passages", [True, False])
def test_a_question_back_is_read_by_the_judge(draft: str, *, sent: bool, passages: bool) -> None:
    """It needs no passage and no word list; an answer before it, or a fact in it, does."""
    sentences = [said("no_claim", probability=0.0) for _ in split_sentences(draft)]
    found = evidence(0.9) if passages else Evidence()
    read = assessed(draft, POLICY, found, query="wo ist mein paket", answer=reading(*sentences))
    off_topic = assessed(
        draft, POLICY, found, query="wo ist mein paket", answer=reading(*sentences, relevance=0.1)
    )

    assert (read.action is Action.SEND) is sent
    assert off_topic.action is Action.ESCALATE


@pytest.mark.parametrize(
    ("draft", "relevance", "sent"),
    [
        ("Sorry, I can only help with questions about our shop.", 0.9, True),
        ("Das kann ich leider nicht beantworten. Ich helfe gern bei Fragen zum Laden.", 0.9, True),
        ("申し訳ございませんが、当店に関するご質問のみお答えしております。", 0.9, True),
        ("Sorry, I can only help with questions about our shop.", 0.1, False),
        ("I cannot help with poems, but you can call 0900 123 456.", 0.9, False),
        ("I do not know.", 0.9, False),
    ],
)
@pytest.mark.parametrize("passages", [True, False])
def test_what_is_off_topic_is_declined(draft: str, relevance: float, *, sent: bool, passages: bool) -> None:
    """The judge reads that it is off topic; a no to what customers may ask is irrelevant."""
    answer = reading(*(said("off_topic") for _ in split_sentences(draft)), relevance=relevance)
    found = evidence(0.9) if passages else Evidence()
    read = assessed(draft, POLICY, found, query="write me a poem", answer=answer)

    assert (read.action is Action.SEND) is sent
    assert sent or read.action is Action.ESCALATE


async def test_numbers_of_list_items_are_not_read() -> None:
    """They number the draft, not the evidence; a date at the head of a line stays."""
    judge = FakeJudge([0.97])
    await asked(
        "Send:\n1. the form\n2. a photo\n\n3. Mai: closed", POLICY, judge, evidence(0.9), query="How?"
    )
    dated = FakeJudge([0.97])
    await asked("1. Mai: zu.\n1. Juni auch.", POLICY, dated, evidence(0.9), query="How?")

    assert judge.asked[0].sentences == ("Send:", "the form", "a photo", "Mai: closed")
    assert dated.asked[0].sentences == ("1. Mai: zu.", "1. Juni auch.")


@pytest.mark.parametrize(
    ("draft", "languages", "category"),
    [
        (
            "Puede devolver cualquier artículo en un plazo de 30 días tras la entrega.",
            ("en", "es"),
            "wrong_language",
        ),
        ("Вы можете вернуть любой товар в течение 30 дней.", ("en", "es"), "wrong_language"),
        ("您可以在30天内退货。", ("en",), "wrong_language"),
        ("You can return any item within 30 days of delivery.", ("en", "es"), ""),
        ("您可以在30天内退货。", (), ""),
    ],
)
def test_a_reply_in_another_language_than_the_question_is_stopped_unread(
    draft: str, languages: tuple[str, ...], category: str
) -> None:
    """Detected by the script, then among the configured languages; without any there is no check."""
    found = replace(evidence(0.9), languages=languages, query_language="en" if languages else None)
    answer = reading(said("supported", QUOTE))

    assert assessed(draft, POLICY, found, answer=answer).category == category
    assert calls_for(draft, POLICY, found) == (0 if category else 1)


@pytest.mark.parametrize(
    ("question", "draft"),
    [
        ("is there a linux app?", "There's no Linux desktop app, but you can use Timely in the browser."),
        ("Buonasera, siete aperti lunedì?", "Buonasera! No, il lunedì siamo chiusi."),
        ("havuz nisanda açık mı", "Hayır, havuz mayıstan ekime kadar açıktır."),
    ],
)
def test_a_question_that_only_looks_like_another_language_stops_no_reply(question: str, draft: str) -> None:
    """Without a word of the detected language the reply must certainly be in another one."""
    found = replace(evidence(0.9), languages=("en", "de", "fr", "es"))
    answer = reading(said("supported", QUOTE))

    assert assessed(draft, POLICY, found, query=question, answer=answer).category != "wrong_language"


@pytest.mark.parametrize(
    ("changes", "draft", "category"),
    [
        ({"moderation_hit": "violence"}, COPIED, "moderation_hit"),
        ({"passages": ()}, COPIED, "no_evidence"),
        ({}, "You can return any item within 30 days [4].", "invalid_citation"),
    ],
)
def test_a_hard_fact_refuses_unread(changes: dict[str, object], draft: str, category: str) -> None:
    """No judge is paid for what facts decide."""
    given = replace(evidence(0.9), **changes)  # type: ignore[arg-type]
    found = assessed(draft, POLICY, given, answer=0.97)

    assert (found.category, found.confidence, found.action) == (category, 0.0, Action.ESCALATE)
    assert calls_for(draft, POLICY, given) == 0


def test_an_account_without_documents_can_say_so() -> None:
    """With ``require_evidence`` off a draft without passages is read, not stopped."""
    free = CalibratedPolicy(require_evidence=False)
    none = Evidence(documents_stored=False)

    assert early_refusal(query="Returns?", evidence=none, policy=free) is None
    assert calls_for("It is open.", free, none) == 1
    assert assessed("It is open.", free, none, answer=0.97).category == "unquoted"


@pytest.mark.parametrize(
    ("found", "refused"),
    [
        (Evidence(documents_stored=False), True),
        (Evidence(), False),
        (evidence(0.01, text="Parking is free."), False),
        (replace(evidence(0.9), documents_stored=False), False),
    ],
)
def test_only_an_account_without_documents_is_refused_before_generation(
    found: Evidence, *, refused: bool
) -> None:
    """Words refuse nothing: where documents are stored, the model may search with better words."""
    early = early_refusal(query="Do you have it in red?", evidence=found, policy=POLICY)

    assert (early is not None) is refused
    assert early is None or (early.category, early.action) == ("no_evidence", Action.ESCALATE)


async def test_one_call_reads_the_whole_draft_with_everything_it_needs() -> None:
    """Question, history, passages with titles, and every sentence without its citation marks."""
    judge = FakeJudge([0.97])
    await asked(TWO, POLICY, judge, evidence(0.9, 0.5), query="Can it go back?")
    (request,) = judge.asked

    assert (request.question, request.wants_verdicts, dict(request.aspects)) == ("Can it go back?", True, {})
    assert request.sentences == (
        "Yes, send it back up to 30 days after it reached you.",
        "The money is on your card 5 working days later.",
    )
    assert request.passages == (("Returns", RETURNS), ("Returns", RETURNS))


def test_a_bug_in_a_judge_rises() -> None:
    """Only unavailable and rejected models are outcomes."""
    with pytest.raises(ZeroDivisionError):
        asyncio.run(asked(PARAPHRASE, POLICY, FakeJudge([ZeroDivisionError()])))
