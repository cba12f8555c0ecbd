"""Whether a match is an evasion in its text: not a number, a native word, another tone or an identifier."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from worker.rules.context import Context, everyday, reads_vietnamese, vietnamese_words
from worker.rules.fold import LEET, Fold, base, natural, script
from worker.rules.model import How, Rule
from worker.rules.units import Unit, rule_units, units

_UNITS = re.compile(
    r"\d{1,4}(?:st|nd|rd|th|am|pm|kg|mg|ml|cl|mm|cm|km|ft|in|lb|lbs|oz|mb|gb|tb|hz|fps|bit|px|kw|wh|mah|yr|yrs|min|sec"
    r"|hrs|pts|dpi)|\d{1,3}[skmbghxdplwvacfty]",
    re.IGNORECASE,
)
"""Numbers with an ordinal ending or a unit (``1st``, ``5s``, ``10k``): never leet."""
_CODE = re.compile(r"[A-Z]{1,2}\d{1,4}")
"""Road, paper and model numbers (``A55``, ``PS4``): never leet."""
_PRICE = re.compile(r"[$€£¥]\d+[kmb]?n?", re.IGNORECASE)
"""Amounts of money (``$4m``): never leet."""
MIN_LEET = 3
"""Fewest letters of a word that may be matched through leet."""
_MARKED = frozenset({How.ACCENT, How.VARIANT})
_BY_SIGNS = frozenset({How.LEET, How.SEPARATED, How.REPEAT})
_ADDRESS = re.compile(r"((?:[a-z]{1,9}://|www\.)[^/\s]*)/\S*|[^\s?&;]+[?&;]\w+=\S*", re.IGNORECASE)
"""A web address with a path or a query: its identifiers are random letters and digits."""
CONTEXT = 200
"""Characters on either side of a match that are searched for an address around it: bounded, so that many
candidates in a long text stay linear."""
VIETNAMESE_WORDS = 2
"""Other words with Vietnamese letters from which on a text is taken for Vietnamese."""
MIN_FOLDED = 4
"""Fewest letters of a bare word that an accented rule of another language than Vietnamese matches: shorter
ones are words of many languages (``lån`` and ``lan``)."""
MIN_BARE = 3
"""Letters of a bare word below which it is taken for an everyday word of some language."""
_VIETNAMESE_LETTERS = frozenset(
    "abcdeghiklmnopqrstuvxyđăâêôơưàáảãạằắẳẵặầấẩẫậèéẻẽẹềếểễệìíỉĩịòóỏõọồốổỗộờớởỡợùúủũụừứửữựỳýỷỹỵ"
)
_MODERN = {
    "Cyrl": frozenset("абвгдеёжзийклмнопрстуфхцчшщъыьэюяіїєґў"),
    "Grek": frozenset("αβγδεζηθικλμνξοπρστυφχψωςάέήίόύώϊϋΐΰ"),
}
"""Letters of today's Russian, Ukrainian, Belarusian, Bulgarian and of modern Greek: a word of these alone
may be native; historic and minority letters inside a Latin-looking word are chosen for their looks."""
_LIVING = frozenset(_MODERN) | {
    "Arab",
    "Hebr",
    "Armn",
    "Geor",
    "Deva",
    "Beng",
    "Taml",
    "Telu",
    "Mlym",
    "Thai",
    "Mymr",
}
"""Scripts in daily use with letters that look Latin; a whole word of another such script (Lisu, Cherokee,
Coptic ...) in front of a Latin rule is chosen for its looks."""


def fair(rule: Rule, fold: Fold, context: Context, place: tuple[int, int], hows: frozenset[How]) -> bool:
    """Whether the match is an evasion in this text, not a native word, another tone or an identifier."""
    start, end = place
    if How.HOMOGLYPH in hows and not _looks_are_fair(rule, fold, context, place):
        return False
    if hows & _MARKED and not _accents_are_fair(rule, context, start, end):
        return False
    return not (hows & _BY_SIGNS and _in_address(context.text, start))


def leet_is_fair(found: list[Unit]) -> bool:
    """Whether the digits and signs can be letters: not a number, a quantity, a code or an initial."""
    words: list[str] = [""]
    spaced = sum(bool(unit.gap) for unit in found) > len(found) // 2
    seen = -1
    for unit in found:
        if unit.gap and not spaced:
            words.append("")
        words[-1] += unit.char if unit.at != seen else ""
        seen = unit.at
    in_phrase = len(words) > 1
    return all(_word_is_fair(word, in_phrase=in_phrase) for word in words)


def _word_is_fair(word: str, *, in_phrase: bool) -> bool:
    leet = [char for char in word if base(char) in LEET or char in LEET or char.isdigit()]
    if not leet:
        return True
    if len(word) < MIN_LEET:
        return False
    if not in_phrase and (_UNITS.fullmatch(word) or _CODE.fullmatch(word) or _PRICE.fullmatch(word)):
        return False
    return len(leet) < len(word) or not any(base(char).isdigit() or char.isdigit() for char in word)


def _accents_are_fair(rule: Rule, context: Context, start: int, end: int) -> bool:
    """Whether accents may be folded: a bare everyday word is itself, and Vietnamese tones make words."""
    matched = unicodedata.normalize("NFC", context.text[start:end])
    vietnamese = bool(vietnamese_words(rule.core))
    bare = _is_bare(matched) and len(matched.split()) > 1
    if not context.text.isascii() and not bare and _is_spelling(matched):
        others = context.vietnamese - len(vietnamese_words(matched))
        if others >= VIETNAMESE_WORDS:
            return _marked_letters(rule.core) == _marked_letters(matched)
    if not _is_bare(matched) or rule.core.isascii():
        return True
    words = matched.casefold().replace("đ", "d").split()
    if not vietnamese:
        return len(words) > 1 or (len(words[0]) >= MIN_FOLDED and words[0] not in everyday())
    known = all(len(word) < MIN_BARE or word in everyday() for word in words)
    return (len(words) > 1 and not known) or reads_vietnamese(context.text, start, end)


def _is_bare(text: str) -> bool:
    """Whether a text has no letters with marks; a stroke through the d is none."""
    return text.replace("đ", "d").replace("Đ", "D").isascii()


def _marked_letters(text: str) -> list[str]:
    """The words in lower case with the tone mark of each syllable apart: ``tuý`` and ``túy`` are one word."""
    spelled = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", text).casefold())
    return ["".join(sorted(word)) for word in spelled.split()]


def _is_spelling(word: str) -> bool:
    """Whether a word is spelled as Vietnamese is, each letter with the marks of one vowel at most."""
    return all(char in _VIETNAMESE_LETTERS or not char.isalpha() for char in word.casefold()) and not any(
        map(unicodedata.combining, word)
    )


def _in_address(text: str, start: int) -> bool:
    """Whether the match stands in the path or query of a web address."""
    window = text[max(0, start - CONTEXT) : start + CONTEXT]
    at = min(start, CONTEXT)
    begin = max(window.rfind(gap, 0, at) for gap in " \n\t") + 1
    found = _ADDRESS.match(window, begin)
    return found is not None and found.end() > at and (found[1] is None or found.end(1) <= at)


def _looks_are_fair(rule: Rule, fold: Fold, context: Context, place: tuple[int, int]) -> bool:
    """Whether a look-alike match is an evasion, not a native word of another script."""
    found = list(units(context.text, fold, *place))
    wanted_scripts, found_scripts = _scripts(rule_units(rule.core, fold)), _scripts(found)
    if len(found_scripts) != 1 or found_scripts & wanted_scripts or not found_scripts <= _LIVING:
        return True
    other = next(iter(found_scripts))
    modern = _MODERN.get(other)
    if modern is not None and not all(unit.char.lower() in modern for unit in found):
        return True
    around, inside = context.scripts, len({unit.at for unit in found})
    return sum(around[code] for code in wanted_scripts) > around[other] - inside


def _scripts(found: Sequence[Unit]) -> set[str]:
    return {script(natural(unit.char)[:1] or unit.char) for unit in found} - {"Zyyy", "Zinh"}
