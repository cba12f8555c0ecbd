"""The grammars of non-answers of nine languages, and idioms that only look like an admission."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from worker.assessment.non_answers.asian import CHINESE, JAPANESE, VIETNAMESE
from worker.assessment.non_answers.english import ENGLISH
from worker.assessment.non_answers.european import FRENCH, GERMAN, ITALIAN, PORTUGUESE, SPANISH
from worker.assessment.non_answers.grammar import Grammar

ADMISSIONS: Mapping[str, Grammar] = MappingProxyType(
    {
        "en": ENGLISH,
        "vi": VIETNAMESE,
        "zh": CHINESE,
        "ja": JAPANESE,
        "de": GERMAN,
        "es": SPANISH,
        "fr": FRENCH,
        "it": ITALIAN,
        "pt": PORTUGUESE,
    }
)

IDIOMS: tuple[str, ...] = (
    # phrases that look like an admission by the speaker and are not
    r"(?:i|we) (?:do not|don't) know (?:(?:of )?(?:anyone|anybody|any(?! (?:details?|more|information|"
    r"further))|an?|"
    r"many)(?!\w)|how to thank)",
    r"(?:if|when|whenever|in case|should|since|customers|people|guests|those|anyone|visitors) ?(?:you|"
    r"they|who)?"
    r" (?:are|'re|is|do|does|be)?(?:n't| not)? ?(?:not sure|unsure|uncertain|don't know|know(?= (?:your|"
    r"which|what|how)))",
    r"(?:you|they|who)(?: are|'re)? (?:not sure|unsure|do not know|don't know)",
    r"(?:không|chẳng) biết (?:ai|mệt|bơi)",
    r"(?:không|chưa) biết (?:bao giờ|đến)",
    r"不知道(?:有谁|有誰|谁不|誰不|有人)|(?:没有|沒有|没|沒|无)人不(?:知道|了解|清楚)",
    r"no sé de nadie|não sei de ninguém|non so di nessuno",
)
