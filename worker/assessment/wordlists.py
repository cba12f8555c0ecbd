"""The closed word lists shipped in ``wordlists.json``, all languages joined: what each list holds."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files


@cache
def _lists() -> dict[str, dict[str, str | list[str]]]:
    loaded: dict[str, dict[str, str | list[str]]] = json.loads(
        files("worker.assessment").joinpath("wordlists.json").read_text(encoding="utf-8")
    )
    return loaded


@cache
def words_of(name: str) -> frozenset[str]:
    """The single words of one list, every language joined."""
    found: set[str] = set()
    for entry in _lists()[name].values():
        found.update(entry.split() if isinstance(entry, str) else entry)
    return frozenset(found)


@cache
def ordered_words_of(name: str, language: str) -> tuple[str, ...]:
    """The single words of one list and language, in the order written."""
    entry = _lists()[name][language]
    return tuple(entry.split() if isinstance(entry, str) else entry)


@cache
def pattern_of(name: str) -> re.Pattern[str]:
    """One pattern for all phrases of a list; see :func:`phrase_pattern`."""
    return phrase_pattern(tuple(sorted(words_of(name))))


@cache
def phrase_pattern(phrases: tuple[str, ...]) -> re.Pattern[str]:
    """A pattern that finds whole words and phrases in folded text; unspaced scripts match anywhere."""
    ordered = sorted(phrases, key=len, reverse=True)
    parts = [re.escape(p) if _is_han(p) else rf"\b{re.escape(p)}\b" for p in ordered]
    return re.compile("|".join(parts) or r"(?!)")


def folded(text: str) -> str:
    """Lower case with straight apostrophes, as the lists are written."""
    return text.casefold().replace("’", "'")


def _is_han(phrase: str) -> bool:
    return "\u3040" <= phrase[0] <= "\u9fff"
