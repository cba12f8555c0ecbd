"""What automatic replies say, and what mail servers write about them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from worker.model import Json

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


def is_automatic(text: str) -> bool:
    """Whether a text, as an answer to the AI, is an automatic reply."""
    start = text[:FIRST_CHARS]
    return STATED.search(start) is not None or AWAY.search(start) is not None
