"""Which messages need no answer, and which only look as if they needed none."""

from __future__ import annotations

import pytest

from tests.support.samples import event
from worker.assessment import default_policy, early_refusal, needs_no_answer
from worker.assessment.gate import reply_kind
from worker.assessment.policies.designs import DESIGNS
from worker.assessment.values import Evidence, ReplyKind
from worker.model import Message, MessageRole, Scope

ANSWERED = (
    Message(role=MessageRole.USER, text="When are you open?"),
    Message(role=MessageRole.ASSISTANT, text="We are open from nine to six."),
)


def said(role: str, text: str) -> tuple[Message, ...]:
    """A history that ends with a line."""
    return (*ANSWERED, Message(role=MessageRole(role), text=text))


@pytest.mark.parametrize("history", [(), ANSWERED], ids=["first", "answered"])
@pytest.mark.parametrize(
    "text",
    [
        "👍", "👌🏼", "😂😂", "❤️", "🔥🔥🔥", "+1", ".", "...", "!!!", ":)", "<3", "XD", "^^", "_ _ _ _ ____",
        "ok", "OKKKK", "K.", "lol", "haha", "hahahha 😂", "got it", "perfect, thanks!", "ty ❤", "ok👍",
        "Thank you, that was all.", "THANK YOU SO MUCH!!!", "thankssss",
        "no thanks", "No worries, thank you",
        "brilliant, cheers mate",
        "all good now, thanks for the quick reply!", "ok perfect that’s what I needed",
        "ahh ok got it now lol", "thx!! have a nice weekend",
        "okay thank you ill wait", "haha nice one",
        "alles klar danke", "Danke, passt!", "Super, vielen lieben Dank euch 😊", "top, bis dann",
        "Vielen Dank für die schnelle Antwort!", "merci !",
        "ok merci, bonne soirée", "d’accord, c’est noté",
        "gracias", "vale, muchas gracias por la ayuda 👍", "jajajaja",
        "grazie mille", "tutto chiaro, grazie!",
        "Obrigado pela ajuda", "valeu pessoal, boa noite", "kkkkk", "dank je wel", "oké bedankt hoor",
        "super, dzięki", "rozumiem, dziękuję bardzo", "cảm ơn",
        "ok shop cảm ơn nhiều nha", "dạ cảm ơn ạ",
        "好的", "收到，谢谢！", "哈哈哈哈哈", "謝謝", "ありがとう",
        "わかりました、ありがとうございました。", "www", "笑",
        "네 알겠습니다 감사합니다~", "ㅋㅋㅋㅋ", "ㅇㅋ",
        "धन्यवाद", "ठीक है!", "बहुत बहुत धन्यवाद भाई", "Спасибо вам за помощь!", "مشكور 🌹", "شكرًا على المساعدة",
        "   ", "\u200b\u200b", "\n\t",
    ],
)  # fmt: skip
def test_an_acknowledgement_needs_no_answer(text: str, history: tuple[Message, ...]) -> None:
    """In words, emoji or signs, in fifteen languages, in chats and comments."""
    assert needs_no_answer(event(text=text), history)
    assert needs_no_answer(event(text=text, scope=Scope.COMMENT), history)


@pytest.mark.parametrize(
    "text",
    [
        "ok but when?", "thanks, and on Sunday?", "no", "yes", "perfect?",
        "ok?", "thanks for nothing", "help",
        "ok I want my money back", "stop", "ok stop", "???", "?", "？", "3",
        "1", "10/10", "Anna", "thanks Anna",
        "Monday", "M", "now", "wrong", "cancel", "oh no", "so?",
        "anyone?", "same problem here", "5 stars",
        "+1 555 1234", "ok 3", "ok again", "lol no",
        "great. just great. still waiting", "nice, how much",
        "thanks but it is still broken", "ok thanks, one more thing", "thanks for no help",
        "thank you for cancelling my order without asking", "goodbye then, never buying here again",
        "👎", "😡", "thanks 😡", ":(", "😭😭", "🆘", "⏰", "❌", "👍👍 but when does it ship", "👍?", "3️⃣",
        "ja", "gerne", "ok und wann?", "danke, aber es geht nicht",
        "schade", "werkt niet", "oui", "c'est nul",
        "merci de m'appeler", "sí", "no me sirve", "no gracias, quiero un reembolso", "non funziona",
        "quero cancelar", "tak", "nie działa", "sao chưa giao hàng", "不", "是的", "还没收到", "はい",
        "まだ届いていません", "了解 ご対応お願いします", "네", "아직 안 왔어요", "ㅠㅠ",
        "ठीक नहीं है", "जी हाँ", "ठीक है, पैसे वापस करो", "спасибо за испорченный вечер", "طيب متى",
    ],
)  # fmt: skip
def test_content_is_never_swallowed(text: str) -> None:
    """A question, a complaint, an answer, a number or a name goes to the model."""
    assert not needs_no_answer(event(text=text), ANSWERED)


@pytest.mark.parametrize("text", ["ok", "👍", "Thanks!", "sure", "+1", "好的"])
@pytest.mark.parametrize(
    "question",
    [
        "Shall I reserve it for you?",
        "We have two of them. Which size do you mean? The small one is cheaper.",
        "Please send us the number of your order.",
        "Let me know if I should reserve it.",
        "Soll ich sie reservieren?",
        "您要哪个颜色？",
        "ご注文番号を教えてください。",
    ],
)
def test_after_a_question_of_ours_an_acknowledgement_is_its_answer(question: str, text: str) -> None:
    """Of the AI or of a person; the model reads it."""
    assert not needs_no_answer(event(text=text), said("assistant", question))
    assert not needs_no_answer(event(text=text), said("agent", question))


@pytest.mark.parametrize(
    "offer",
    [
        "We are open on Sunday. Is there anything else I can help you with?",
        "You are welcome! Let me know if you need anything else.",
        "Kann ich sonst noch etwas für Sie tun?",
        "还有其他问题吗？",
    ],
)
def test_an_offer_of_help_may_be_declined_silently(offer: str) -> None:
    """It asks for nothing; a "yes" goes to the model all the same."""
    assert needs_no_answer(event(text="no thanks, that's all"), said("assistant", offer))
    assert not needs_no_answer(event(text="yes"), said("assistant", offer))


def test_an_unanswered_message_is_answered_with_the_acknowledgement() -> None:
    """Messages in a row are answered together; acknowledgements between them are passed over."""
    waiting = said("user", "And on Sunday?")
    refused = early_refusal(query="ok, perfect", evidence=Evidence(), policy=default_policy("safety"))

    assert not needs_no_answer(event(text="thanks"), waiting)
    assert not needs_no_answer(event(text="thanks"), (*waiting, *said("user", "👍")[-1:]))
    assert needs_no_answer(event(text="thanks"), said("user", "👍"))
    assert refused is None


def test_an_attachment_is_content() -> None:
    """A picture with "ok" below it is looked at."""
    assert not needs_no_answer(event(text="ok", attachments=("https://example.org/a.png",)), ())


@pytest.mark.parametrize(
    "text",
    [
        "hi", "good morning!", "Heyyy", "👋", "Hello, is anyone there?",
        "Moin", "Hallo zusammen", "Bonjour à tous",
        "Hola", "buenas tardes", "Salve", "Oi, tudo bem?", "Hoi!", "Dzień dobry!", "Cześć",
        "xin chào shop", "你好，在吗", "こんにちは", "안녕하세요",
    ],
)  # fmt: skip
@pytest.mark.parametrize("design", DESIGNS)
def test_a_greeting_gets_its_reply_under_every_policy(design: str, text: str) -> None:
    """The model is asked, although no passage is found."""
    assert not needs_no_answer(event(text=text), ())
    assert reply_kind(text) is ReplyKind.GREETING
    assert early_refusal(query=text, evidence=Evidence(), policy=default_policy(design)) is None


@pytest.mark.parametrize("text", ["", "   ", "ok " * 200, "👍" * 400, "\u200b", "ok\x00 refund"])
def test_unusual_text_is_read_without_an_error(text: str) -> None:
    """Long texts are no acknowledgements; a text without visible characters says nothing."""
    assert needs_no_answer(event(text=text), ()) is (not text.strip(" \u200b"))
