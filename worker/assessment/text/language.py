"""The language of a text: by its script, then by lingua among the configured languages."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache

from lingua import Language, LanguageDetector, LanguageDetectorBuilder

from worker.assessment.text.wordlists import folded_text, ordered_list_words
from worker.assessment.values import DraftCase

_SCRIPTS: tuple[tuple[str, re.Pattern[str], frozenset[str]], ...] = (
    # name, its letters, the languages written in it; a language of no row is written in Latin
    ("kana", re.compile(r"[\u3040-\u30ff]"), frozenset({"ja"})),
    ("hangul", re.compile(r"[\uac00-\ud7af\u1100-\u11ff]"), frozenset({"ko"})),
    ("han", re.compile(r"[\u3400-\u9fff\uf900-\ufaff]"), frozenset({"zh", "ja"})),
    ("cyrillic", re.compile(r"[\u0400-\u052f]"), frozenset({"ru", "uk", "be", "bg", "mk", "sr", "kk", "mn"})),
    ("arabic", re.compile(r"[\u0600-\u06ff\u0750-\u077f]"), frozenset({"ar", "fa", "ur"})),
    ("devanagari", re.compile(r"[\u0900-\u097f]"), frozenset({"hi", "mr", "ne"})),
    ("thai", re.compile(r"[\u0e00-\u0e7f]"), frozenset({"th"})),
    ("hebrew", re.compile(r"[\u0590-\u05ff]"), frozenset({"he"})),
    ("greek", re.compile(r"[\u0370-\u03ff\u1f00-\u1fff]"), frozenset({"el"})),
    ("latin", re.compile(r"[A-Za-z\u00c0-\u024f\u1e00-\u1eff]"), frozenset()),
)
SHIPPED_LANGUAGES = ("en", "vi", "zh")
"""The candidates when an account configured no languages: the languages of the built-in texts."""

_WITH_STOP_WORDS = ("en", "vi", "es", "fr", "de")

_WITH_FUNCTION_WORDS = ("de", "es", "fr", "it", "nl", "pl", "pt", "vi")
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")

_FEWEST_LETTERS = 12
"""Fewest letters from which the language of a text is detected: "OK merci" is too short."""

MANY_WORDS = 2
"""Function words from which the language of a text is certain."""

_FEWEST_HAN = 4
"""Fewest letters of a text in Chinese: so many words of Japanese have kana among them."""

_SURE = 0.8
"""Lingua's confidence among the configured languages below which the language counts as unknown."""

_BRACKETED = re.compile(r"\[[^\[\]]*\]|https?://\S+|[^\s@]{1,64}@[^\s@]+")
_LETTER = re.compile(r"[^\W\d_]")
_LOOKALIKE_WORD = re.compile(
    r"\b(?=\w*[A-Za-z])(?=\w*[\u0370-\u052f])[A-Za-z\u00c0-\u024f\u0370-\u052f]{2,}\b"
)


def primary_language(tag: str) -> str:
    """The language of a BCP 47 tag: ``pt`` for ``pt-BR``."""
    return tag.partition("-")[0].casefold()


def main_script(text: str) -> str | None:
    """The script most letters belong to, or None without letters; kana outweighs Han, as in Japanese."""
    if text.isascii():
        return "latin" if _LETTER.search(text) else None
    counts = {name: len(letters.findall(text)) for name, letters, _ in _SCRIPTS}
    if counts["kana"] and counts["han"]:
        counts["kana"] += counts["han"]
    name = max(counts, key=lambda script: counts[script])
    return name if counts[name] else None


def uses_script(language: str, script: str) -> bool:
    """Whether a language is written in a script."""
    named = [languages for name, _, languages in _SCRIPTS if name == script]
    if script == "latin":
        return all(language not in languages for _, _, languages in _SCRIPTS)
    return any(language in languages for languages in named)


def mixed_script_words(text: str) -> tuple[str, ...]:
    """Words that mix Latin with Greek or Cyrillic letters, as no language does: look-alikes."""
    return () if text.isascii() else tuple(_LOOKALIKE_WORD.findall(text))


def wrong_language(
    text: str, wanted: str, configured: Sequence[str], *, question: str | None = None
) -> str | None:
    """The language or script of a text that certainly is not ``wanted``, else None.

    Only the languages in ``configured`` are detected; any other is noticed only by its script. A short or
    mixed text counts as ``wanted``. ``question``: the text in which ``wanted`` was detected. Without a
    function word of it the text must have several of its own language, and the question none.
    """
    prose = _BRACKETED.sub(" ", text)
    script = main_script(prose)
    if script is None:
        return None
    if not uses_script(primary_language(wanted), script):
        return script
    found = detect_language(prose, configured)
    if found is None or found == primary_language(wanted):
        return None
    if question is None or has_function_word(question, wanted):
        return found
    is_sure = _function_words(prose, found) >= MANY_WORDS and not has_function_word(question, found)
    return found if is_sure else None


def detect_language(text: str, configured: Sequence[str]) -> str | None:
    """The configured language that a text is in, or None when that is uncertain."""
    script = main_script(text)
    codes = tuple(sorted({primary_language(tag) for tag in configured}))
    fitting = tuple(code for code in codes if script is not None and uses_script(code, script))
    if script == "han" and "zh" in fitting and len(_LETTER.findall(text)) >= _FEWEST_HAN:
        return "zh"
    if len(fitting) <= 1 or len(_LETTER.findall(text)) < _FEWEST_LETTERS:
        return fitting[0] if len(fitting) == 1 else None
    detector = _detector(fitting)
    if detector is None:
        return None
    best = detector.compute_language_confidence_values(text[:2000])[0]
    return best.language.iso_code_639_1.name.lower() if best.value >= _SURE else None


def function_word_language(text: str) -> str | None:
    """The language most function words of a text belong to, its script if that has no word lists, or None."""
    script = main_script(text)
    if script != "latin":
        return script
    words = set(folded_text(text[:2000]).split())
    counts = {code: len(words.intersection(ordered_list_words("stop", code))) for code in _WITH_STOP_WORDS}
    best = max(counts, key=lambda code: counts[code])
    return best if counts[best] else None


@lru_cache(maxsize=64)
def _detector(codes: tuple[str, ...]) -> LanguageDetector | None:
    """A detector of these languages, or None when lingua supports fewer than two of them."""
    names = {code.upper() for code in codes}
    known = [language for language in Language.all() if language.iso_code_639_1.name in names]
    if len(known) < 2:
        return None
    return LanguageDetectorBuilder.from_languages(*known).with_low_accuracy_mode().build()


def author_language(case: DraftCase) -> str | None:
    """The author's language: as published, else detected among the configured ones, else None."""
    return query_language(
        case.query,
        published=case.evidence.query_language,
        configured=case.evidence.languages or SHIPPED_LANGUAGES,
    )


def query_language(query: str, *, published: str | None, configured: Sequence[str]) -> str | None:
    """The language of a question: as published, else detected among ``configured``, else None."""
    return primary_language(published) if published else detect_language(query, configured)


def text_in_language(texts: Mapping[str, str], language: str | None) -> str | None:
    """The text in a language, else the English one, else any, else None."""
    return texts.get(language or "en") or texts.get("en") or next(iter(texts.values()), None)


def text_for_author(
    texts: Mapping[str, str],
    message: str,
    *,
    published: str | None,
    languages: Sequence[str],
    reply: str = "",
    earlier: str = "",
) -> str | None:
    """The text in the language of a message's author, else the English one, else any; None without a text.

    ``published``: the language of the message as its publisher gave it. ``languages``: codes that the account
    answers in; empty: those of the texts. ``reply``: what is sent with the text; its language counts more
    than the message's, in which typing errors can look like another language. ``earlier``: what the author
    wrote before, for a message too short to show its language.
    """
    if len(texts) <= 1:
        return text_in_language(texts, None)
    configured = languages or tuple(texts)
    language = query_language(message, published=published, configured=configured)
    said = None if published else detect_language(reply, configured)
    if said is not None and (language or has_function_word(reply, said)):
        return text_in_language(texts, said)
    is_english = not reply or function_word_language(reply) == "en"
    if language and not published and is_english and not _is_written_in(message, language):
        language = None
    language = language or _worded_language(message, configured)
    is_short = main_script(message) is None or _function_words(message, "en") < MANY_WORDS
    if earlier and language is None and is_short:
        return text_for_author(texts, earlier, published=None, languages=languages)
    return text_in_language(texts, language)


def _is_written_in(message: str, language: str) -> bool:
    """Whether a message has a word of its detected language, or a letter that English has not."""
    foreign = any(char.isalpha() and not char.isascii() for char in message)
    return foreign or has_function_word(message, language)


def _worded_language(message: str, configured: Sequence[str]) -> str | None:
    """The configured language that most words of a message too short for lingua belong to, or None."""
    counts = {
        code: _function_words(message, code)
        for code in map(primary_language, configured)
        if code in (*_WITH_FUNCTION_WORDS, "en")
    }
    best = max(counts, key=lambda code: counts[code], default="en")
    return best if counts.get(best, 0) > counts.get("en", 0) else None


def has_function_word(text: str, language: str) -> bool:
    """Whether a text in Latin letters has a function word of the language that English lacks, or of English.

    Languages without a list need none: lingua takes English with typing errors for those of its neighbours.
    """
    return _function_words(text, language) > 0


def _function_words(text: str, language: str) -> int:
    if language not in (*_WITH_FUNCTION_WORDS, "en") or main_script(text) != "latin":
        return MANY_WORDS
    known = _english_words()
    if language != "en":
        known = frozenset(ordered_list_words("function", language)) - known
    return len(known.intersection(_WORD.findall(folded_text(text))))


@cache
def _english_words() -> frozenset[str]:
    return frozenset(ordered_list_words("stop", "en"))
