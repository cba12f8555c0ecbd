"""Which configured language a text is written in: by its script, then by lingua among the configured ones."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from lingua import Language, LanguageDetector, LanguageDetectorBuilder

from worker.assessment.values import Case

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
"""What is told apart when an account configured nothing: the languages our texts are written in."""

_FEWEST_LETTERS = 12
"""Below this many letters a Latin text is not told apart: "OK merci" is anybody's guess."""

_SURE = 0.8
"""Lingua's confidence among the configured languages below which the language counts as unknown."""

_BRACKETED = re.compile(r"\[[^\[\]]*\]|https?://\S+|[^\s@]{1,64}@[^\s@]+")
_LETTER = re.compile(r"[^\W\d_]")
_LOOKALIKE_WORD = re.compile(
    r"\b(?=\w*[A-Za-z])(?=\w*[\u0370-\u052f])[A-Za-z\u00c0-\u024f\u0370-\u052f]{2,}\b"
)


def primary(tag: str) -> str:
    """The language of a BCP 47 tag: ``pt`` for ``pt-BR``."""
    return tag.partition("-")[0].casefold()


def script_of(text: str) -> str | None:
    """The script most letters belong to, or None without letters; kana outweighs Han, as in Japanese."""
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
    """Words that mix Latin with Greek or Cyrillic letters, which no language does: look-alikes."""
    return tuple(_LOOKALIKE_WORD.findall(text))


def wrong_language(text: str, wanted: str, configured: Sequence[str]) -> str | None:
    """The language or script a text is in when that is surely not ``wanted``, else None.

    Only languages of ``configured`` are told apart, so a language nobody configured is noticed by its script
    alone; a short or mixed text is given the benefit of the doubt.
    """
    prose = _BRACKETED.sub(" ", text)
    script = script_of(prose)
    if script is None:
        return None
    if not uses_script(primary(wanted), script):
        return script
    found = language_of(prose, configured)
    return found if found is not None and found != primary(wanted) else None


def language_of(text: str, configured: Sequence[str]) -> str | None:
    """Which of the configured languages a text is in, or None when that is not sure."""
    script = script_of(text)
    codes = tuple(sorted({primary(tag) for tag in configured}))
    fitting = tuple(code for code in codes if script is not None and uses_script(code, script))
    if len(fitting) <= 1 or len(_LETTER.findall(text)) < _FEWEST_LETTERS:
        return fitting[0] if len(fitting) == 1 else None
    detector = _detector(fitting)
    if detector is None:
        return None
    best = detector.compute_language_confidence_values(text[:2000])[0]
    return best.language.iso_code_639_1.name.lower() if best.value >= _SURE else None


@lru_cache(maxsize=64)
def _detector(codes: tuple[str, ...]) -> LanguageDetector | None:
    """A detector of these languages, or None when lingua knows fewer than two of them."""
    names = {code.upper() for code in codes}
    known = [language for language in Language.all() if language.iso_code_639_1.name in names]
    if len(known) < 2:
        return None
    return LanguageDetectorBuilder.from_languages(*known).with_low_accuracy_mode().build()


def language_for(case: Case) -> str | None:
    """The language to answer an author in: as published, else told among the configured ones, else None."""
    return query_language(
        case.query,
        published=case.evidence.query_language,
        configured=case.evidence.languages or SHIPPED_LANGUAGES,
    )


def query_language(query: str, *, published: str | None, configured: Sequence[str]) -> str | None:
    """The language of a question: as its publisher gave it, else told among ``configured``, else None."""
    return primary(published) if published else language_of(query, configured)


def text_for(texts: Mapping[str, str], language: str | None) -> str | None:
    """The text written in a language, else the English one, else any, else None."""
    return texts.get(language or "en") or texts.get("en") or next(iter(texts.values()), None)
