"""Messages with attachments, which no model of ours sees: which of them only a person can answer."""

from __future__ import annotations

import re
from typing import Final

from worker.endings import Ending, silent_ending
from worker.model import Event
from worker.reasons import Reason

POINTING: Final = re.compile(
    r"\b(?:"
    r"this|these|that(?!\s+(?:you|i|we|they|the|a)\b)|those|it(?!\s+(?:takes?|possible|true|cost\s+to)\b)|its"
    r"|attach\w*|enclos\w*|pic|pics|pictures?|photo\w*|images?|screen ?shots?|see|look|looks|here|shown"
    r"|above|below"
    r"|das(?!\s+(?-i:[A-ZÄÖÜ]))|dies\w*|hier|anbei|an(?:ge)?h[aä]ng\w*|bild\w*|fotos?|siehe|sieht"
    r"|ça|ceci|cela|celui|celle|cette?|ci-joint\w*|pi[eè]ce jointe|captures?|voici|voir|regarde\w*|ici"
    r"|est[aeo]s?|es[aeo]s?|aqu[ií]|adjunt\w*|imagen\w*|capturas?|mira\w*"
    r"|ist[oa]s?|iss[oa]s?|ess[ae]s?|anex\w*|imagens?|veja\w*|quest[aeio]|allegat\w*|immagin\w*|ecco|guarda\w*"
    r"|dit|deze|dat|bijlage\w*|afbeelding\w*|zie|kijk"
    r"|czy\s+(?:ten|ta|to)|tego|tej|tym|zał[aą]cz\w*|zdj[eę]ci\w*|obraz\w*|tutaj"
    r"|det|den\s+här|detta|dette|denne|denna|bifog\w*|bilag\w*|vedh[aæ]ft\w*|vedlagt|billede\w*"
    r"|tämä\w*|t[aä]st[aä]|kuva\w*|liitt?\w*|tento|tato|toto|př[ií]lo\w*|fotk\w*|obr[aá]z\w*|ez|ezt|k[eé]pe\w*"
    r"|mell[eé]k\w*|acest\w*|ata[sș]at\w*|poz[aăe]\w*|ini|itu|gambar\w*|lampir\w*|này|đây|ảnh|hình|đính"
    r" kèm|bu|şu"
    r"|resim\w*|foto[gğ]raf\w*|это\w*|эт[аиоу]\w*|вот|фото\w*|картин\w*|скрин\w*|влож\w*|це|цей|ось|знімк\w*"
    r"|αυτ\w*|εδώ|φωτο\w*"
    r")\b"
    r"|[这這此图圖照]|附件|これ|この|写真|画像|添付|이거|이것|사진|첨부|هذ[اه]|صور|مرفق|זה|זאת|תמונה|यह|इस|फोटो|นี้|รูป|ภาพ",
    re.IGNORECASE,
)
"""Words that point to something shown; a message with an attachment most often does."""
LEAST_WORDS: Final = 3


def handed_over_ending(event: Event, unchecked: int) -> Ending | None:
    """The ending of a message with attachments that a person must answer; None when its text stands alone.

    ``unchecked`` is the number of images that moderation could not check.
    """
    count = len(event.attachments) + event.other_attachments
    if not count:
        return None
    if unchecked:
        sentence = f"{unchecked} of {count} attachments could not be checked; the text passed moderation"
        return silent_ending(Reason.IMAGE_UNCHECKED, sentence)
    if points_to_attachment(event.text):
        sentence = f"the message is about its attachments ({count}), which the AI cannot see"
        return silent_ending(Reason.ATTACHMENT_UNSEEN, sentence)
    return None


def points_to_attachment(text: str) -> bool:
    """Whether a text needs its attachments: it points to something, or says next to nothing."""
    words = re.findall(r"\w+", text)
    is_spaced = text.isascii() or len(text) < 2 * LEAST_WORDS or " " in text.strip()
    return POINTING.search(text) is not None or (is_spaced and len(words) < LEAST_WORDS)
