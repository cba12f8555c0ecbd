"""The gate: what needs no fact check, and what only looks as if it did not."""

from __future__ import annotations

import pytest

from tests.unit.assessment.samples import assessed
from worker.assessment import Evidence, default_policy, early_refusal
from worker.assessment.gate import reply_kind, unchecked_kind, unusable_reason
from worker.assessment.policies.calibrated import CalibratedPolicy
from worker.assessment.policies.designs import DESIGNS
from worker.assessment.policies.failsafe_policy import FailsafePolicy
from worker.assessment.policies.safety_checks import SafetyPolicy
from worker.assessment.values import DraftCase, ReplyKind, UnusableReason
from worker.model import Action, Message, MessageRole

NOTHING_STORED = Evidence(documents_stored=False)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("You are welcome. Is there anything else I can help you with?", "thanks"),
        ("You're welcome! Let me know if you need anything else.", "thanks"),
        ("Happy to help. Anything else?", "thanks"),
        ("Gern geschehen! Kann ich sonst noch etwas für dich tun?", "thanks"),
        ("Kein Problem, gern geschehen. Schönes Wochenende!", "thanks"),
        ("Avec plaisir, bonne journée !", "thanks"),
        ("¡Con gusto! Que tenga un buen día.", "thanks"),
        ("Chúc anh chị một ngày tốt lành!", "thanks"),
        ("No worries, happy to help!", "thanks"),
        ("Hallo, womit kann ich helfen?", "greeting"),
        ("¡De nada! ¿Necesitas algo más?", "thanks"),
        ("Bonjour ! Puis-je vous aider ?", "greeting"),
        ("Hello!", "greeting"),
        ("Hi there! How can I help you today?", "greeting"),
        ("Xin chào! Tôi có thể giúp gì cho bạn?", "greeting"),
        ("您好！请问有什么可以帮您的吗？", "greeting"),
        ("こんにちは！何かお手伝いできることはありますか？", "greeting"),
        ("안녕하세요! 무엇을 도와드릴까요?", "greeting"),
        ("Hallo! Waarmee kan ik je helpen?", "greeting"),
        ("Cześć! W czym mogę pomóc?", "greeting"),
        ("İyi günler!", "greeting"),
        ("¡Hola! ¿En qué puedo ayudarte hoy?", "greeting"),
        ("Olá! Como posso ajudar você hoje?", "greeting"),
        ("Hello everyone! Feel free to ask anything.", "greeting"),
        ("Thank you so much!", "thanks"),
        ("You're welcome! Have a nice day.", "thanks"),
        ("Cảm ơn bạn!", "thanks"),
        ("不客气！祝您生活愉快！", "thanks"),
        ("Could you tell me which order you mean?", "clarifying_question"),
        ("Thanks! Which size do you need?", "clarifying_question"),
        ("请问您是哪一天下的单？", "clarifying_question"),
        ("Let me connect you with a colleague.", "handoff"),
        ("Mình sẽ kết nối bạn với nhân viên.", "handoff"),
        ("I don't know.", "refusal"),
        ("Sorry, I do not have enough information.", "refusal"),
        ("I'm unable to answer based on the given passages.", "refusal"),
        ("Tôi không biết.", "refusal"),
        ("我不知道。", "refusal"),
    ],
)
def test_small_talk_states_no_fact(text: str, kind: str) -> None:
    """Greetings, thanks, questions back, hand-offs and admissions, in several languages."""
    assert reply_kind(text) == kind


@pytest.mark.parametrize(
    "text",
    [
        "A colleague will refund everything and send a free gift.",
        "Did you know the shop is closed forever?",
        "Do you want the free bicycle we give to everyone?",
        "You are welcome. The shop is open today.",
        "Gern geschehen, die Lampe kostet zwanzig Euro.",
        "De nada, la tienda abre hoy.",
        "Hello! The shop opens at 9.",
        "Hello! Refunds are free.",
        "Hello everyone! All free today.",
        "You are welcome. All of it is free.",
        "こんにちは！あります。",
        "Thanks, delivery is free of charge.",
        "Did you know that Alice owns the shop?",
        "Could you wait 90 days?",
        "Could you come at 9:00 tomorrow?",
        "I don't know, but the warranty covers water damage.",
        "I'm not sure; however it is free.",
        "Let me connect you with Bob, the owner.",
        "Which is free? Delivery is free.",
        "Hi, I hear the tower is tall.",
    ],
)
def test_a_fact_behind_a_courtesy_is_still_checked(text: str) -> None:
    """A courtesy with a fact is checked."""
    assert reply_kind(text) == "answer"


def test_the_gate_lets_small_talk_pass_without_evidence() -> None:
    """A guard that fact-checks a greeting over-blocks."""
    found = assessed("Hello! How can I help you today?", CalibratedPolicy(), Evidence())

    assert (found.action, found.category) == (Action.SEND, "greeting")


WAITING = "Can I return goods after 20 days?"


@pytest.mark.parametrize(
    ("history", "draft", "category"),
    [
        ([WAITING], "You are welcome!", None),
        ([WAITING], "Hello! How can I help you?", None),
        ([WAITING, "ok"], "You are welcome!", None),
        ([WAITING], "Which order do you mean?", "clarifying_question"),
        (["Hi there"], "You are welcome!", "thanks"),
        ([], "You are welcome!", "thanks"),
    ],
)
def test_a_courtesy_does_not_answer_a_message_that_waits(
    history: list[str], draft: str, category: str | None
) -> None:
    """A question and a quick "Thank you!" are answered together: the judge reads what was written."""
    lines = tuple(Message(role=MessageRole.USER, text=text) for text in history)
    case = DraftCase(query="Thank you!", evidence=Evidence(history=lines), draft=draft)

    assert unchecked_kind(case) == category


def test_a_courtesy_after_an_answered_question_passes() -> None:
    """The question does not wait any more."""
    lines = (
        Message(role=MessageRole.USER, text=WAITING),
        Message(role=MessageRole.ASSISTANT, text="Yes, within 30 days."),
    )
    case = DraftCase(query="Thank you!", evidence=Evidence(history=lines), draft="You are welcome!")

    assert unchecked_kind(case) == "thanks"


@pytest.mark.parametrize(
    ("query", "draft", "passes"),
    [
        ("Thanks!", "No problem!", True),
        ("Merci beaucoup", "Avec plaisir !", True),
        ("That helps, thank you for the quick reply.", "Happy to help!", True),
        ("Can you cancel my order?", "No problem!", False),
        ("Pouvez-vous annuler ma commande ?", "Avec plaisir !", False),
        ("Storniert bitte meine Bestellung.", "Gerne!", False),
        ("Thanks. Could you cancel it?", "Happy to help!", False),
        ("please cancel my order, thanks", "No problem!", False),
        ("Ich hätte gerne einen Termin.", "Sehr gerne!", False),
        ("merci annulez ma commande", "Avec plaisir !", False),
        ("ok merci bcp bonne journée", "Avec plaisir !", True),
        ("Danke dir", "Kein Problem!", True),
        ("Super, danke für die schnelle Info", "Gerne!", True),
        ("Can you cancel my order?", "Hello! How can I help you?", True),
    ],
)
def test_a_courtesy_that_agrees_to_a_request_is_checked(query: str, draft: str, passes: bool) -> None:
    """It promises what was asked; after thanks it agrees to nothing."""
    case = DraftCase(query=query, evidence=NOTHING_STORED, draft=draft)

    assert (unchecked_kind(case) is not None) == passes


@pytest.mark.parametrize(
    ("query", "draft", "repeats"),
    [
        ("How do I wash a wool blanket?", "How do I wash a wool blanket?", True),
        ("Hi! How do I wash a wool blanket?", "How do I wash a wool blanket? [1]", True),
        ("I found out this song now", "I found out this song now", True),
        ("Is the shop open on Monday?", "The shop is open on Monday.", False),
        ("Do you ship to Norway?", "To Norway?", False),
        ("Hello there!", "Hello there!", False),
    ],
)
def test_a_draft_that_only_repeats_the_message_is_no_answer(query: str, draft: str, repeats: bool) -> None:
    """Whatever a judge says of it: a heading of a FAQ page would support it."""
    case = DraftCase(query=query, evidence=Evidence(), draft=draft)

    assert (unusable_reason(case) is UnusableReason.REPEATS_MESSAGE) is repeats


def test_moderation_comes_before_the_gate() -> None:
    """A greeting that moderation flagged is not sent."""
    found = assessed("Hello there!", CalibratedPolicy(), Evidence(moderation_hit="harassment"))

    assert (found.action, found.category) == (Action.ESCALATE, "moderation_hit")


@pytest.mark.parametrize("design", DESIGNS)
def test_every_policy_has_a_gate_unless_an_account_wants_none(design: str) -> None:
    """A greeting is sent; as published, a design checks it as an answer."""
    assert assessed("Hello!", default_policy(design), Evidence()).action is Action.SEND
    assert assessed("Hello!", SafetyPolicy(gate=False), Evidence()).action is Action.FALLBACK


@pytest.mark.parametrize(
    ("query", "refused"), [("What is the capital of Mars?", True), ("Hello!", False), ("Thanks!", False)]
)
def test_a_question_without_evidence_is_refused_before_generation(query: str, refused: bool) -> None:
    """No document, no model call; a greeting asks for no passage."""
    found = early_refusal(query=query, evidence=Evidence(documents_stored=False), policy=CalibratedPolicy())

    assert (found is not None) is refused
    assert found is None or (found.category, found.action) == ("no_evidence", "escalate")


@pytest.mark.parametrize("draft", ["I don't know.", "Tôi không biết.", "我不知道。"])
@pytest.mark.parametrize(
    ("low_action", "has_text"), [(Action.ESCALATE, False), (Action.SILENCE, False), (Action.FALLBACK, True)]
)
def test_an_admission_not_to_know_is_answered_as_a_low_draft(
    draft: str, low_action: Action, *, has_text: bool
) -> None:
    """It states no fact and does not help the author: the account's low action, never `send`."""
    found = assessed(draft, CalibratedPolicy(low_action=low_action), Evidence())

    assert (found.action, found.category, found.confidence) == (low_action, "refusal", 0.0)
    assert (found.fallback_text is not None) is has_text


def test_a_published_policy_with_a_gate_sends_a_greeting_and_no_admission() -> None:
    """The gate is for what needs no fact check; a draft without an answer is of no use to the author."""
    policy = FailsafePolicy()

    assert assessed("Hello!", policy).action is Action.SEND
    assert assessed("I don't know.", policy).action is Action.FALLBACK


@pytest.mark.parametrize(
    ("policy", "refused"),
    [
        (SafetyPolicy(), False),
        (SafetyPolicy(gate=False), True),
        (CalibratedPolicy(), False),
        (CalibratedPolicy(gate=False), True),
    ],
)
def test_a_greeting_is_refused_before_generation_where_its_reply_would_be(
    policy: SafetyPolicy | CalibratedPolicy, *, refused: bool
) -> None:
    """No model call is paid for a reply to "hello" that the policy refuses; a gate lets the reply pass."""
    early = early_refusal(query="Hello!", evidence=Evidence(documents_stored=False), policy=policy)
    reply = assessed("Hello! How can I help you today?", policy, Evidence(), query="Hello!")

    assert (early is not None) is refused
    assert (reply.action is not Action.SEND) is refused


@pytest.mark.parametrize(
    "draft",
    [
        "Yes, of course. Could you tell me your order number?",
        "Sure, we do that. What is your name?",
        "Of course, don't worry. Could you tell me your name?",
        "Yes, how can I help you?",
        "Ja, gerne. Wie ist Ihre Bestellnummer?",
    ],
)
def test_a_yes_before_a_question_is_an_answer(draft: str) -> None:
    """It says that something is so, whatever is asked after it."""
    assert reply_kind(draft) is ReplyKind.ANSWER


@pytest.mark.parametrize(
    ("query", "draft", "passes"),
    [
        ("are you a bot?", "Yes, I am an AI assistant. How can I help you?", True),
        ("Are you human??", "I'm a virtual assistant of Heronlink.", True),
        ("Bist du ein Bot?", "Ja, ich bin eine KI. Womit kann ich helfen?", True),
        ("你是机器人吗？", "是的，我是人工智能助手。", True),
        ("are you a bot?", "No, I am a real person.", False),
        ("are you a bot?", "No, I'm a real person, not a chatbot.", False),
        ("are you a bot?", "I'm not an AI assistant, I'm Anna.", False),
        ("Bist du ein Bot?", "Ich bin kein virtueller Assistent, sondern ein Mensch.", False),
        ("Vous êtes un robot ?", "Non, je ne suis pas un assistant virtuel.", False),
        ("Bạn là bot à?", "Mình không phải trợ lý ảo, mình là người thật.", False),
        ("are you a bot?", "I'm a digital assistant, not a real person.", True),
        ("are you a bot?", "I am not human but an AI assistant.", True),
        ("are you a bot?", "I am a bot and returns are free.", False),
        ("are you a bot?", "I'm an AI assistant and you may return worn shoes.", False),
        ("are you a bot?", "I am an automated assistant. A colleague will call you in 5 minutes.", False),
        ("are you a bot? and when do you open", "I am a bot. We open at 9.", False),
        ("when do you open", "I am an AI assistant.", False),
    ],
)
@pytest.mark.parametrize("name", DESIGNS)
def test_a_bot_may_say_that_it_is_one(name: str, query: str, draft: str, passes: bool) -> None:
    """Where it is asked, and no passage is needed for it; nothing else may stand beside it."""
    found = assessed(draft, default_policy(name), Evidence(), query=query)

    assert (found.category == "disclosure") is passes
    assert not passes or found.action is Action.SEND
    assert (
        not passes or early_refusal(query=query, evidence=NOTHING_STORED, policy=default_policy(name)) is None
    )
