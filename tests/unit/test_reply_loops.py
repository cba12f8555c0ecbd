"""Automatic repliers are recognised, and people are not taken for them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from worker.model import Account, Event, Json, Message, MessageRole, Scope, WriterSign
from worker.reasons import Reason
from worker.reply_loops import is_automatic, is_declared, loop_ending, sign_of

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
ACCOUNT = Account(user_id="acme", version=1)
QUESTIONS = (
    "When are you open?",
    "Do you ship to Norway?",
    "What does the blue lamp cost?",
    "Is it in stock now?",
)


def event(
    text: str, *, after_s: float = 60.0, behind_s: float = 0.0, metadata: dict[str, Json] | None = None
) -> Event:
    """A message so long after the newest reply, which came at ``NOW``, by a publisher's clock."""
    return Event(
        event_id="e", entry_id="1-0", user_id="acme", scope=Scope.CHAT, conversation_id="c", message_id="m",
        author_id="a", text=text, created_at=NOW + timedelta(seconds=after_s - behind_s),
        received_at=NOW + timedelta(seconds=after_s), metadata=metadata or {},
    )  # fmt: skip


def talk(
    *texts: str, sign: WriterSign | None = WriterSign.MACHINE, apart_s: float = 60.0
) -> tuple[Message, ...]:
    """Messages with a reply each; the newest reply came at ``NOW``."""
    lines = []
    for number, text in enumerate(texts, 1):
        at = NOW - timedelta(seconds=apart_s * (len(texts) - number))
        lines += [Message(role=MessageRole.USER, text=text, at=at, sign=sign)]
        lines += [Message(role=MessageRole.ASSISTANT, text="From nine to six.", at=at)]
    return tuple(lines)


def reason(asked: Event, history: tuple[Message, ...], account: Account = ACCOUNT) -> Reason | None:
    """The reason of the ending as the pipeline concludes it, or None."""
    ending = loop_ending(asked, sign_of(asked, history), history, account, NOW + timedelta(seconds=60))
    return None if ending is None else ending.reason_code


AUTOMATIC = (
    "I am out of the office until Monday.", "Automatic reply: I'm on holiday",
    "AW: Abwesenheitsnotiz bis Montag",
    "This is an automated message. Please do not reply to this email.", "Out of Office: back on 3 May",
    "Thank you for contacting us. A member of our team will get back to you within 24 hours.",
    "Your ticket #8841 has been received.", "Réponse automatique : je suis absent",
    "Respuesta automática: estoy de vacaciones", "自动回复：您好，我现在不在", "Tin nhắn trả lời tự động",
    "Ich bin derzeit nicht im Büro und antworte ab Montag.", "This mailbox is not monitored.",
    "Delivery Status Notification (Failure)", "Undeliverable: your message",
    "Mail delivery failed: returning message to sender", "Your message to a@b.example couldn't be delivered.",
    "[Auto-Reply] We got your message", "This is a no-reply address.", "Dette er en automatisk melding.",
    "Ich bin vom 3. bis 9. Mai im Urlaub.", "Ik ben afwezig tot maandag.", "Jag är på semester till måndag",
    "Jestem na urlopie do poniedziałku.", "Я в отпуске до понедельника.",
    "Ваше обращение принято, номер 8841.",
    "本日は不在にしております。", "أنا خارج المكتب حتى يوم الاثنين", "Bu otomatik bir yanıttır.",
    "Chúng tôi đã nhận được tin nhắn của bạn và sẽ phản hồi sớm.",
    "You are writing with an AI assistant.\n\nWe open at nine.", "Hier antwortet ein KI-Assistent.\n\nJa.",
)  # fmt: skip


@pytest.mark.parametrize("text", AUTOMATIC)
def test_an_automatic_reply_ends_the_exchange_at_once(text: str) -> None:
    """Only as an answer to the AI: as a first message it may be a person's own words."""
    assert reason(event(text), talk(QUESTIONS[0], sign=WriterSign.HUMAN)) is Reason.AUTO_REPLY_LOOP_ESCALATED
    assert reason(event(text), ()) is None


@pytest.mark.parametrize(
    "metadata",
    [
        {"Auto-Submitted": "auto-replied"}, {"auto_submitted": "auto-generated"}, {"Precedence": "bulk"},
        {"X-Auto-Response-Suppress": "All"}, {"x-autoreply": "yes"}, {"is_bot": True}, {"automatic": "true"},
    ],
)  # fmt: skip
def test_headers_of_automatic_mail_in_the_metadata_count(metadata: dict[str, Json]) -> None:
    """RFC 3834, and what mail servers write beside it."""
    assert is_declared(metadata)


@pytest.mark.parametrize(
    "metadata",
    [{}, {"Auto-Submitted": "no"}, {"is_bot": False}, {"precedence": "first-class"}, {"labels": {"a": "b"}}],
)
def test_other_metadata_declares_no_machine(metadata: dict[str, Json]) -> None:
    """``no`` is the value that RFC 3834 gives to mail of people."""
    assert not is_declared(metadata)


@pytest.mark.parametrize(
    "text",
    [
        "Do you have automatic doors?", "Is the office open? I am out of milk",
        "Can you reply to this email?", "Thanks for your message",
        "I received your message, thanks. What about Sunday?", "Is this an automated reply?",
        "My mail could not be delivered, what is your address?", "Are you on vacation in May?",
        "My ticket was cancelled", "When will someone get back to me?",
    ],
)  # fmt: skip
def test_people_who_speak_of_such_things_are_people(text: str) -> None:
    """No text that names an automatic reply is one."""
    assert not is_automatic(text)


@pytest.mark.parametrize(("replies", "ended"), [(5, False), (6, True), (8, True)])
def test_repetitions_end_after_six_replies(replies: int, ended: bool) -> None:
    """Numbers, signs and case do not count."""
    texts = [f"Ticket #{n}: When are you open?" for n in range(replies)]
    found = reason(event("TICKET #99 - when are you open"), talk(*texts))

    assert (found is Reason.AUTO_REPLY_LOOP_ESCALATED) is ended


def test_replies_of_more_than_an_hour_ago_do_not_count() -> None:
    """A person may ask the same thing every day."""
    history = talk(*["When are you open today?"] * 7, apart_s=3000.0)

    assert reason(event("When are you open today?"), history) is None


def test_a_sign_of_a_person_begins_the_count_anew() -> None:
    """Another question with a person's pause."""
    history = talk(*["When are you open?"] * 4) + talk("Do you ship?", sign=WriterSign.HUMAN)
    history += talk(*["When are you open?"] * 4)

    assert reason(event("When are you open?"), history) is None


def test_an_exchange_goes_to_people_once() -> None:
    """Further messages of the machine are silent; a person's are answered."""
    looped = Message(role=MessageRole.USER, text=AUTOMATIC[0], at=NOW, sign=WriterSign.LOOP)
    history = (*talk(QUESTIONS[0], sign=WriterSign.HUMAN), looped)

    assert reason(event(AUTOMATIC[0]), history) is Reason.AUTO_REPLY_LOOP
    assert reason(event("Sorry, I am back. Do you ship to Norway?"), history) is None


def test_people_are_people() -> None:
    """Different questions and short repetitions."""
    human = WriterSign.HUMAN
    asked = [sign_of(event(text), talk(before)) for before, text in pairwise(QUESTIONS)]

    assert asked == [human] * 3
    assert sign_of(event("yes"), talk("yes", "yes")) is human
    assert sign_of(event(QUESTIONS[1], behind_s=70.0), talk(QUESTIONS[0])) is human  # a slow clock


@pytest.mark.parametrize("behind_s", [0.0, 2.0])
def test_an_answer_at_once_is_no_sign_of_a_person(behind_s: float) -> None:
    """The publisher's clock may be behind that of Postgres."""
    found = [
        sign_of(event(text, after_s=0.1, behind_s=behind_s), talk(QUESTIONS[0]))
        for text in (QUESTIONS[1], QUESTIONS[0])
    ]

    assert found == [None, WriterSign.MACHINE]


def test_messages_that_waited_behind_the_reply_do_not_answer_it() -> None:
    """Such as those of an outage: a person wrote them one after the other."""
    history = talk(*QUESTIONS * 4, sign=None)

    assert sign_of(event(QUESTIONS[0], after_s=-1.0), history) is WriterSign.HUMAN
    assert reason(event("A new question", after_s=-1.0), history) is None


def test_ten_answers_faster_than_typing_end_too() -> None:
    """Two language models may talk without repeating themselves."""
    texts = [
        f"{word} is a question of its own"
        for word in ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
    ]
    history = talk(*texts, sign=None)

    assert reason(event("A new question", after_s=0.1), history) is Reason.AUTO_REPLY_LOOP_ESCALATED
    assert reason(event("A new question", after_s=0.1), history[2:]) is None
    assert reason(event("A new question", after_s=60.0), history) is None


def test_an_account_may_switch_it_off() -> None:
    """``loop_replies`` is 0."""
    assert reason(event(AUTOMATIC[0]), talk(*[AUTOMATIC[0]] * 9), replace(ACCOUNT, loop_replies=0)) is None
