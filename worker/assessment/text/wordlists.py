"""The closed word lists in ``wordlists.json``, by list, with all languages joined."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from importlib.resources import files


@cache
def _lists() -> dict[str, dict[str, str | list[str]]]:
    loaded: dict[str, dict[str, str | list[str]]] = json.loads(
        files("worker.assessment.text").joinpath("wordlists.json").read_text(encoding="utf-8")
    )
    return loaded


@cache
def list_words(name: str) -> frozenset[str]:
    """The words of one list in all languages."""
    found: set[str] = set()
    for entry in _lists()[name].values():
        found.update(entry.split() if isinstance(entry, str) else entry)
    return frozenset(found)


@cache
def ordered_list_words(name: str, language: str) -> tuple[str, ...]:
    """The words of one list in one language, in the order written."""
    entry = _lists()[name][language]
    return tuple(entry.split() if isinstance(entry, str) else entry)


@cache
def list_pattern(name: str) -> re.Pattern[str]:
    """One pattern for all phrases of a list; see :func:`phrase_pattern`."""
    return phrase_pattern(tuple(sorted(list_words(name))))


@cache
def language_pattern(name: str, language: str | None) -> re.Pattern[str]:
    """One pattern for the phrases of a list in one language, or in all where the list lacks the language."""
    entries = _lists()[name]
    if language not in entries:
        return list_pattern(name)
    return phrase_pattern(tuple(sorted(ordered_list_words(name, language))))


@cache
def phrase_pattern(phrases: tuple[str, ...]) -> re.Pattern[str]:
    """A pattern that finds whole words and phrases in folded text; unspaced scripts match anywhere.

    A phrase may begin or end with a sign (``100%``): it is whole when no letter or digit is next to it.
    """
    ordered = sorted((folded_text(phrase) for phrase in phrases), key=len, reverse=True)
    spaced = one_of([phrase for phrase in ordered if not _is_han(phrase)])
    unspaced = [phrase for phrase in ordered if _is_han(phrase)]
    anywhere = f"|{one_of(unspaced)}" if unspaced else ""  # a branch that never matches doubles a search
    return re.compile(rf"(?<!\w){spaced}(?!\w){anywhere}")


def one_of(phrases: Sequence[str]) -> str:
    """An expression for one of the phrases, tried in their order; never matches for an empty list.

    Phrases with the same first letter are one alternative: most places of a text are left after one look.
    """
    by_letter: dict[str, list[str]] = {}
    for phrase in phrases:
        by_letter.setdefault(phrase[:1], []).append(re.escape(phrase[1:]))
    parts = (f"{re.escape(letter)}(?:{'|'.join(rests)})" for letter, rests in by_letter.items())
    return f"(?:{'|'.join(parts)})" if phrases else "(?!)"


def folded_text(text: str) -> str:
    """Lower case in NFC with straight apostrophes, as the lists are written; the Turkish İ is an i."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", text.replace("İ", "i")).casefold().replace("’", "'")


def _is_han(phrase: str) -> bool:
    return "\u3040" <= phrase[0] <= "\u9fff"
