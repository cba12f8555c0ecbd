"""Automatic repliers that answer the AI: noticed, and left unanswered before they answer each other for ever.

::

    sign_of(event, history)                           what the message says about its writer, or None
    loop_ending(event, sign, history, account, now)   None, or the ending: to people once, then silent
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from difflib import SequenceMatcher
from itertools import takewhile
from typing import Final

from worker.assessment.policies.texts import texts
from worker.endings import Ending, silent_ending
from worker.model import Account, Event, Json, Message, MessageRole, WriterSign
from worker.reasons import Reason

STATED: Final = re.compile(
    r"\bthis is an? (?:automated|automatic|auto[- ]?generated) (?:e-?mail|message|reply|response"
    r"|answer|notification)"
    r"|^(?:re: ?)?\[?(?:auto(?:matic|mated)?[- ]?(?:reply|response|answer)|out of (?:the )?office)\b[] :.!-]"
    r"|^(?:re: ?)?(?:undeliverable|delivery status notification|returned mail"
    r"|mail delivery (?:failed|subsystem))\b"
    r"|^your (?:message|e-?mail)\b.{0,80}\b(?:could ?n[o']t|was not) be(?:en)? delivered"
    r"|\bthis is a no-?reply (?:address|e-?mail|mailbox)|\bautomatisk (?:melding|meddelelse|meddelande)"
    r"|\b(?:please )?do not (?:reply|respond) to this (?:e-?mail|message|address|mailbox)"
    r"|\bthis (?:mailbox|inbox|address) is (?:not monitored|unmonitored)"
    r"|\bautomatische (?:antwort|nachricht|rückmeldung)|\babwesenheits(?:notiz|nachricht|meldung)"
    r"|\bdies ist eine automatisch(?:e| erzeugte| generierte)"
    r"|\bréponse automatique|\bmessage automatique|\bceci est une réponse automatique"
    r"|\bne pas répondre à ce (?:message|mail)"
    r"|\brespuesta automática|\bmensaje automático|\bno responda a este (?:mensaje|correo)"
    r"|\brisposta automatica|\bmessaggio automatico|\bresposta automática|\bmensagem automática"
    r"|\bautomatisch antwoord|\bautomatiskt svar|\bautomaattinen vastaus|\botomatik (?:bir )?(?:yanıt|cevap)"
    r"|\bавтоматический ответ|\bавтоответ|\bавтоматична відповідь|\bodpowiedź automatyczna"
    r"|\bautomatická odpověď"
    r"|trả lời tự động|tin nhắn tự động|自動(?:返信|応答)|自动(?:回复|答复)|自動回覆"
    r"|자동 ?(?:응답|회신)|رد تلقائي",
    re.IGNORECASE,
)
"""Texts that call themselves automatic, in the first lines of a message."""
AWAY: Final = re.compile(
    r"\bi(?:'m| am|'ll be| will be) (?:currently |now )?(?:out of (?:the |my )?office"
    r"|away from (?:the |my )?office"
    r"|on (?:annual |parental |maternity |paternity |sick )?(?:leave|vacation|holiday))"
    r"|\bi(?:'m| am) (?:currently |now )?away (?:until|till|from)\b"
    r"|\bwe (?:have |'ve )?received your (?:message|e-?mail|request|enquiry|inquiry|ticket)"
    r"|\bthank(?:s| you) for (?:contacting|reaching out to|writing to|your (?:message|e-?mail"
    r"|enquiry|inquiry|request))\b"
    r".{0,200}\b(?:we|i|someone|a member|our team)\b.{0,40}\b(?:will|'ll|back to you|respond|reply"
    r"|in touch)"
    r"|\byour (?:ticket|request|case)(?: number)?(?: ?[#\w-]*\d[\w-]*)? (?:has been|was) "
    r"(?:received|created|opened|logged)"
    r"|\bich bin (?:derzeit |aktuell |momentan |zurzeit |(?:bis|vom) .{1,40} )?(?:nicht im büro|außer haus"
    r"|im urlaub|abwesend)"
    r"|\bik ben (?:momenteel |op dit moment )?(?:afwezig|niet op kantoor|met vakantie)"
    r"|\bjag är (?:för närvarande )?(?:på semester|inte på kontoret)|\bjestem (?:obecnie )?na urlopie"
    r"|\bя (?:сейчас )?(?:в отпуске|не в офисе)|\bваше (?:обращение|письмо|сообщение) (?:принято|получено)"
    r"|不在にしております|休暇をいただいて|أنا خارج المكتب|أنا في إجازة"
    r"|đã nhận được tin nhắn của (?:bạn|anh|chị|quý khách).{0,40}sẽ (?:phản hồi|trả lời|liên hệ)"
    r"|\bje suis (?:actuellement )?(?:absente?|en congés?|hors du bureau)"
    r"|\b(?:actualmente )?(?:estoy|me encuentro) (?:fuera de la oficina|de vacaciones|ausente)"
    r"|\bsono (?:attualmente )?(?:fuori ufficio|in ferie|assente)"
    r"|\bestou (?:ausente|de férias|fora do escritório)",
    re.IGNORECASE | re.DOTALL,
)
"""Notices of absence and receipt. A person may write them too, so they count only as an answer to the AI."""
FIRST_CHARS: Final = 400
FIELDS: Final[Mapping[str, re.Pattern[str]]] = {
    "auto_submitted": re.compile(r"(?!no\b).+", re.IGNORECASE),
    "x_auto_response_suppress": re.compile(r".+"),
    "precedence": re.compile(r"bulk|junk|auto_reply|list", re.IGNORECASE),
    "x_autoreply": re.compile(r"(?!no|false).+", re.IGNORECASE),
    "x_autorespond": re.compile(r".+"),
    "is_bot": re.compile(r"true", re.IGNORECASE),
    "automatic": re.compile(r"true", re.IGNORECASE),
}
"""Fields of ``metadata`` and their values: headers of RFC 3834 and of mail servers, with ``_`` or ``-``."""


def is_declared(metadata: Mapping[str, Json]) -> bool:
    """Whether the publisher passed on that a machine wrote."""
    for name, value in metadata.items():
        known = FIELDS.get(name.lower().replace("-", "_"))
        if known is not None and isinstance(value, str | bool) and known.fullmatch(str(value).strip()):
            return True
    return False


DISCLOSED: Final = tuple(texts("disclosure").values())
"""How the first reply of another Hushgate begins, unless its account has texts of its own."""


def is_automatic(text: str) -> bool:
    """Whether a text, as an answer to the AI, is an automatic reply."""
    start = text[:FIRST_CHARS]
    return start.startswith(DISCLOSED) or STATED.search(start) is not None or AWAY.search(start) is not None


SHORTEST_REPEATED: Final = 12
"""Characters: people repeat ``yes``, ``ok`` and the numbers of a menu."""
ALIKE: Final = 0.95
LONG: Final = 60
"""Characters from which a text also repeats one with ``ALIKE`` equal ones: machines change a name."""
COMPARED_CHARS: Final = 600
READING_S: Final = 0.5
TYPED_CHARS: Final = 30.0
"""Most characters a second that a person types or dictates; pasted texts come after a pause of their own."""
CHANGING: Final = re.compile(r"\d+|[^\w]+|_")


def sign_of(event: Event, history: Sequence[Message]) -> WriterSign | None:
    """Whether a person or a machine wrote, or None where an answer came too fast to be sure of a person.

    Where an answer was written before the reply, the publisher's clock is behind, and the arrival counts.
    """
    replies = [line for line in history if line.role is MessageRole.ASSISTANT]
    if not replies:
        return WriterSign.HUMAN
    if is_declared(event.metadata) or is_automatic(event.text):
        return WriterSign.MACHINE
    last = replies[-1].at
    if last is None or event.received_at <= last:  # not an answer to the reply
        return WriterSign.HUMAN
    if _repeats(event.text, [line.text for line in history if line.role is MessageRole.USER]):
        return WriterSign.MACHINE
    answered_at = event.written_at if event.written_at > last else event.received_at
    waited_s = (answered_at - last).total_seconds()
    return None if waited_s < READING_S + len(event.text) / TYPED_CHARS else WriterSign.HUMAN


def _repeats(text: str, earlier: Sequence[str]) -> bool:
    written = _compared(text)
    if len(written) < SHORTEST_REPEATED:
        return False
    for each in map(_compared, earlier):
        if each == written:
            return True
        shorter, longer = sorted((len(each), len(written)))
        if shorter < LONG or longer - shorter > (1 - ALIKE) * longer:
            continue
        if SequenceMatcher(None, each, written, autojunk=False).ratio() >= ALIKE:
            return True
    return False


def _compared(text: str) -> str:
    """A text without what automatic replies change: numbers, signs, case."""
    return " ".join(CHANGING.sub(" ", text[:COMPARED_CHARS].casefold()).split())


WINDOW: Final = timedelta(hours=1)
MOST_UNSURE: Final = 10
"""Replies to messages without a sign of a person: as many as the history holds."""


def loop_ending(
    event: Event, sign: WriterSign | None, history: Sequence[Message], account: Account, now: datetime
) -> Ending | None:
    """The ending of a message that the AI leaves unanswered because a machine wrote it, else None.

    The first one of an exchange is handed to people.
    """
    if not account.loop_replies or sign is WriterSign.HUMAN:
        return None
    since = [*takewhile(lambda line: line.sign is not WriterSign.HUMAN, reversed(history))]
    answered = sum(line.role is MessageRole.ASSISTANT and _is_recent(line, now) for line in since)
    if any(line.sign is WriterSign.LOOP for line in since):
        return silent_ending(Reason.AUTO_REPLY_LOOP, "the exchange with an automatic replier has ended")
    declared = sign is WriterSign.MACHINE and (is_declared(event.metadata) or is_automatic(event.text))
    most = account.loop_replies if sign is WriterSign.MACHINE else max(account.loop_replies, MOST_UNSURE)
    if not declared and answered < most:
        return None
    why = (
        "it is an automatic reply"
        if declared
        else f"{answered} replies in an hour without a sign of a person"
    )
    return silent_ending(Reason.AUTO_REPLY_LOOP_ESCALATED, f"an automatic replier seems to answer: {why}")


def _is_recent(line: Message, now: datetime) -> bool:
    return line.at is not None and now - line.at <= WINDOW
