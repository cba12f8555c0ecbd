"""Whether a match means the rule: not a number, a native word, another tone or an identifier."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from worker.rules.folding.context import TextContext, everyday_words, reads_vietnamese, vietnamese_words
from worker.rules.folding.fold import LEET, Fold, base_letter, natural_form, script_code
from worker.rules.folding.units import LetterUnit, letter_units, rule_units
from worker.rules.model import MatchMethod, Rule

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
"""Fewest letters of a word that may match by leet."""
_MARKED = frozenset({MatchMethod.ACCENT, MatchMethod.VARIANT})
_BY_SIGNS = frozenset({MatchMethod.LEET, MatchMethod.SEPARATED, MatchMethod.REPEAT})
_ADDRESS = re.compile(r"((?:[a-z]{1,9}://|www\.)[^/\s]*)/\S*|[^\s?&;]+[?&;]\w+=\S*", re.IGNORECASE)
"""A web address with a path or a query, whose identifiers are random letters and digits."""
CONTEXT = 200
"""Characters on either side of a match that are searched for an address: bounded, so that the cost of many
candidates stays linear."""
VIETNAMESE_WORDS = 2
"""Number of other words with Vietnamese letters from which a text counts as Vietnamese."""
MIN_FOLDED = 4
"""Fewest letters of a word without marks that an accented rule matches, except in Vietnamese: shorter words
occur in many languages (``lån`` and ``lan``)."""
MIN_BARE = 3
"""A word without marks and with fewer letters counts as an everyday word of some language."""
_VIETNAMESE_LETTERS = frozenset(
    "abcdeghiklmnopqrstuvxyđăâêôơưàáảãạằắẳẵặầấẩẫậèéẻẽẹềếểễệìíỉĩịòóỏõọồốổỗộờớởỡợùúủũụừứửữựỳýỷỹỵ"
)
_MODERN = {
    "Cyrl": frozenset("абвгдеёжзийклмнопрстуфхцчшщъыьэюяіїєґў"),
    "Grek": frozenset("αβγδεζηθικλμνξοπρστυφχψωςάέήίόύώϊϋΐΰ"),
}
"""Letters of modern Russian, Ukrainian, Belarusian, Bulgarian and Greek: a word of only these letters may be
native; historic and minority letters in a Latin-looking word are chosen for their looks."""
_DAILY_SCRIPTS = frozenset([
    *_MODERN, "Arab", "Hebr", "Armn", "Geor", "Deva", "Beng", "Taml", "Telu", "Mlym", "Thai", "Mymr",
])  # fmt: skip
"""Scripts in daily use with letters that look Latin; a whole word in another such script (Lisu, Cherokee,
Coptic ...) that matches a Latin rule is chosen for its looks."""


def is_genuine_match(
    rule: Rule, fold: Fold, context: TextContext, place: tuple[int, int], methods: frozenset[MatchMethod]
) -> bool:
    """Whether the match means the rule in this text: not a native word, another tone or an identifier."""
    start, end = place
    if MatchMethod.HOMOGLYPH in methods and not _is_genuine_look(rule, fold, context, place):
        return False
    if methods & _MARKED and not _is_genuine_accent(rule, context, start, end):
        return False
    return not (methods & _BY_SIGNS and _in_address(context.text, start))


def is_genuine_leet(found: list[LetterUnit]) -> bool:
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
    return all(_is_genuine_leet_word(word, in_phrase=in_phrase) for word in words)


def _is_genuine_leet_word(word: str, *, in_phrase: bool) -> bool:
    leet = [char for char in word if base_letter(char) in LEET or char in LEET or char.isdigit()]
    if not leet:
        return True
    if len(word) < MIN_LEET:
        return False
    if not in_phrase and (_UNITS.fullmatch(word) or _CODE.fullmatch(word) or _PRICE.fullmatch(word)):
        return False
    return len(leet) < len(word) or not any(base_letter(char).isdigit() or char.isdigit() for char in word)


def _is_genuine_accent(rule: Rule, context: TextContext, start: int, end: int) -> bool:
    """Whether accents may be folded: not in a bare everyday word, and not between Vietnamese tones."""
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
        return len(words) > 1 or (len(words[0]) >= MIN_FOLDED and words[0] not in everyday_words())
    known = all(len(word) < MIN_BARE or word in everyday_words() for word in words)
    return (len(words) > 1 and not known) or reads_vietnamese(context.text, start, end)


def _is_bare(text: str) -> bool:
    """Whether a text has no letters with marks; ``đ`` counts as ``d``."""
    return text.replace("đ", "d").replace("Đ", "D").isascii()


def _marked_letters(text: str) -> list[str]:
    """The sorted letters and marks of each word in lower case: ``tuý`` and ``túy`` are equal."""
    spelled = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", text).casefold())
    return ["".join(sorted(word)) for word in spelled.split()]


def _is_spelling(word: str) -> bool:
    """Whether a word has only Vietnamese letters, each with the marks of at most one vowel."""
    return all(char in _VIETNAMESE_LETTERS or not char.isalpha() for char in word.casefold()) and not any(
        map(unicodedata.combining, word)
    )


def _in_address(text: str, start: int) -> bool:
    """Whether the match is in the path or query of a web address."""
    window = text[max(0, start - CONTEXT) : start + CONTEXT]
    at = min(start, CONTEXT)
    begin = max(window.rfind(gap, 0, at) for gap in " \n\t") + 1
    found = _ADDRESS.match(window, begin)
    return found is not None and found.end() > at and (found[1] is None or found.end(1) <= at)


def _is_genuine_look(rule: Rule, fold: Fold, context: TextContext, place: tuple[int, int]) -> bool:
    """Whether a look-alike match means the rule and is not a native word of another script."""
    found = list(letter_units(context.text, fold, *place))
    rule_scripts, text_scripts = _scripts(rule_units(rule.core, fold)), _scripts(found)
    if len(text_scripts) != 1 or text_scripts & rule_scripts or not text_scripts <= _DAILY_SCRIPTS:
        return True
    other = next(iter(text_scripts))
    modern = _MODERN.get(other)
    if modern is not None and not all(unit.char.lower() in modern for unit in found):
        return True
    around, inside = context.scripts, len({unit.at for unit in found})
    return sum(around[code] for code in rule_scripts) > around[other] - inside


def _scripts(found: Sequence[LetterUnit]) -> set[str]:
    return {script_code(natural_form(unit.char)[:1] or unit.char) for unit in found} - {"Zyyy", "Zinh"}
