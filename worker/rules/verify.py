"""Whether a candidate really is the rule: every letter compared with the original, each step named."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby, pairwise

from worker.rules.context import Context, vietnamese_words
from worker.rules.fold import LEET, LEET_OTHER, TABLES, Fold, base, natural, script
from worker.rules.model import How, Level, Rule, Switch
from worker.rules.stream import SPACELESS_RANGES

_SPACELESS = re.compile(f"[{SPACELESS_RANGES}]")
_UNITS = re.compile(
    r"\d{1,4}(?:st|nd|rd|th|am|pm|s|k|m|b|g|h|x|d|p|l|kg|mg|ml|cl|mm|cm|km|ft|in|lb|lbs|oz|mb|gb|tb|hz|fps|bit|px|w|kw|wh|mah|v|a|c|f|t|y|yr|yrs|min|sec|hrs|pts|dpi)",
    re.IGNORECASE,
)
"""Numbers with an ordinal ending or a unit (``1st``, ``5s``, ``10k``): never leet."""
_CODE = re.compile(r"[A-Z]{1,2}\d{1,4}")
"""Road, paper and model numbers (``A55``, ``PS4``): never leet."""
_PRICE = re.compile(r"[$€£¥]\d+[kmb]?n?", re.IGNORECASE)
"""Amounts of money (``$4m``): never leet."""
MIN_SEPARATED = 3
"""Fewest letters of an alphabetic word that may be matched spaced out: two-letter runs are initials."""
MIN_LEET = 3
"""Fewest letters of a word that may be matched through leet."""
MIN_CAPITAL_I = 4
"""Fewest letters of a word in which a capital I among small letters may stand for l."""
MIN_STRETCH = 3
"""Fewest equal letters in a row that count as stretching: a doubled letter alone makes other words."""
_CLAUSE_END = frozenset("。！？，、；：\n\r")


@dataclass(slots=True)
class Unit:
    """One letter of a folded text.

    Attributes:
        letter: the coarse letter the fold wrote.
        char: the original character it came from.
        at: index of that character.
        gap: original text between this unit and the one before, when the fold reads a separator there.
    """

    letter: str
    char: str
    at: int
    gap: str = ""


def units(text: str, fold: Fold, start: int = 0, end: int | None = None) -> Iterator[Unit]:
    """The letters of ``text[start:end]`` under a fold, with the gaps between them."""
    table, gap_from, last = TABLES[fold], -1, start
    for at in range(start, len(text) if end is None else end):
        char = text[at]
        folded = table[ord(char)] or ""
        if not folded:
            continue
        letters = folded.strip()
        if not letters:
            gap_from = last if gap_from < 0 else gap_from
            continue
        for letter in letters.replace(" ", ""):
            yield Unit(letter, char, at, text[gap_from:at] if gap_from >= 0 else "")
            gap_from = -1
        last = at + 1


@lru_cache(maxsize=16384)
def rule_units(core: str, fold: Fold) -> tuple[Unit, ...]:
    """The letters of a rule under a fold."""
    return tuple(units(core, fold))


def spaceless(char: str) -> bool:
    """Whether the script of the character is written without spaces between words (or in syllables)."""
    return _SPACELESS.match(char) is not None


def spelled(rule: Rule, fold: Fold, matched: str, level: Level) -> frozenset[How] | None:
    """How the matched text spells the rule, or None when it does not; needs nothing but the two."""
    wanted, found = rule_units(rule.core, fold), list(units(matched, fold))
    hows: set[How] = set()
    if not _runs_agree(wanted, found, hows, level) or not _gaps_agree(wanted, found, hows, level):
        return None
    if How.LEET in hows and not _leet_is_fair(found):
        return None
    if any(TABLES[fold][ord(char)] == "" for char in matched if char not in rule.core):
        hows.add(_invisible(matched, hows))
    return frozenset(hows) if _switches_allow(rule, hows, matched) else None


def fair(rule: Rule, fold: Fold, context: Context, place: tuple[int, int], hows: frozenset[How]) -> bool:
    """Whether the match is an evasion in this text, not a native word, another tone or an identifier."""
    start, end = place
    if How.HOMOGLYPH in hows and not _looks_are_fair(rule, fold, context, place):
        return False
    if How.ACCENT in hows and not _accents_are_fair(rule, context, start, end):
        return False
    return not (hows & _BY_SIGNS and _in_address(context.text, start))


def _invisible(matched: str, hows: set[How]) -> How:
    marks = any("\u0300" <= char <= "\u036f" for char in matched)
    return How.ACCENT if marks or How.ACCENT in hows else How.INVISIBLE


def _switches_allow(rule: Rule, hows: set[How], matched: str) -> bool:
    if Switch.CASE in rule.switches and not hows <= {How.EXACT}:
        return False
    if Switch.EXACT_ACCENTS in rule.switches and natural(rule.core) != natural(matched):
        folded = hows - {How.EXACT, How.CASE, How.WIDTH, How.LEET, How.SEPARATED, How.REPEAT, How.INVISIBLE}
        if folded:
            return False
    if Switch.NO_LEET in rule.switches and How.LEET in hows:
        return False
    return not (How.SEPARATED in hows and {Switch.NO_SPACING, Switch.SUBSTRING} & rule.switches)


# ------------------------------------------------------------------ letters


def _runs_agree(wanted: tuple[Unit, ...], found: list[Unit], hows: set[How], level: Level) -> bool:
    if len(wanted) == len(found):
        return all(_letter_agrees(w, f, found, hows) for w, f in zip(wanted, found, strict=True))
    pairs = _paired_runs(wanted, found, _exact_letter) or _paired_runs(wanted, found, _coarse_letter)
    if pairs is None:
        return False
    if level is Level.DEFAULT and max(map(_stretch, pairs), default=0) < MIN_STRETCH:
        return False
    hows.add(How.REPEAT)
    return all(_run_agrees(want, find, found, hows) for want, find in pairs)


def _exact_letter(unit: Unit) -> str:
    """Tells ``i`` from ``l`` where the text does; ``1`` and ``|`` stay either."""
    return base(unit.char) if unit.letter == "i" else unit.letter


def _coarse_letter(unit: Unit) -> str:
    return unit.letter


def _paired_runs(
    wanted: Sequence[Unit], found: Sequence[Unit], key: Callable[[Unit], str]
) -> list[tuple[list[Unit], list[Unit]]] | None:
    """The runs of one letter in rule and text side by side, or None when they differ."""
    want_runs = [(letter, list(run)) for letter, run in groupby(wanted, key)]
    find_runs = [(letter, list(run)) for letter, run in groupby(found, key)]
    if [letter for letter, _ in want_runs] != [letter for letter, _ in find_runs]:
        return None
    return [(want, find) for (_, want), (_, find) in zip(want_runs, find_runs, strict=True)]


def _stretch(pair: tuple[list[Unit], list[Unit]]) -> int:
    """How often the text repeats one letter where the rule has fewer; 0 where it does not."""
    wanted, found = pair
    if len(found) <= len(wanted):
        return 0
    if found[0].letter != "i":
        return len(found)
    return len(found) if len({base(unit.char) for unit in found} & {"i", "l"}) <= 1 else 0


def _run_agrees(wanted: list[Unit], found: list[Unit], whole: list[Unit], hows: set[How]) -> bool:
    """Whether a run of text letters can be the run of rule letters, in order, each at least once."""
    if len(found) < len(wanted):
        return False
    at = 0
    for left, unit in zip(range(len(found), 0, -1), found, strict=True):
        must_move = left <= len(wanted) - 1 - at
        if must_move or not _letter_agrees(wanted[at], unit, whole, hows):
            at += 1
            if at >= len(wanted) or not _letter_agrees(wanted[at], unit, whole, hows):
                return False
    return all(unit.char == wanted[-1].char for unit in wanted[at:]) or at == len(wanted) - 1


def _letter_agrees(wanted: Unit, found: Unit, whole: list[Unit], hows: set[How]) -> bool:
    how = _letter_how(wanted, found, whole)
    if how is None:
        return False
    hows.add(how)
    return True


def _letter_how(wanted: Unit, found: Unit, whole: list[Unit]) -> How | None:
    want, char = wanted.char, found.char
    if wanted.letter != found.letter:
        return None
    if want == char:
        return How.EXACT
    if natural(want) == natural(char):
        return How.CASE if want.casefold() == char.casefold() else How.WIDTH
    want_base, base_ = base(want), base(char)
    if want_base == base_:
        return How.ACCENT
    return _evasive_how(want_base, base_, found, whole)


def _evasive_how(want: str, char: str, found: Unit, whole: list[Unit]) -> How | None:
    """For letters that are not the same: leet, a look-alike, another spelling, or no match (None)."""
    if char in LEET or found.char in LEET:
        letters = LEET.get(char) or LEET[found.char]
        if want in letters or LEET_OTHER.get(want) == char:
            return How.LEET
        return How.HOMOGLYPH if not want.isascii() and not want.isdigit() and script(want) != "Latn" else None
    if want in LEET:
        return None
    if want in {"i", "l"} and char in {"i", "l"}:
        return How.HOMOGLYPH if want == "l" and _capital_for_l(found, whole) else None
    if want.isdigit():
        return None
    if char.isdigit():  # a digit of another script, by value or by looks
        return How.LEET if want in LEET.get(str(unicodedata.digit(char)), "") else How.HOMOGLYPH
    return How.VARIANT if script(want[0]) == script(char[0]) else How.HOMOGLYPH


def _capital_for_l(unit: Unit, whole: list[Unit]) -> bool:
    """Whether a capital I may stand for l: in letters of another font, or among small letters."""
    if unit.char != "I":
        return unicodedata.normalize("NFKC", unit.char) == "I"
    others = [other.char for other in whole if other.char != "I"]
    return len(whole) >= MIN_CAPITAL_I and whole[0].at != unit.at and all(char.islower() for char in others)


# ------------------------------------------------------------------ gaps


def _gaps_agree(wanted: tuple[Unit, ...], found: list[Unit], hows: set[How], level: Level) -> bool:
    """Whether gaps lie where the rule has them, or part every letter of a word, or (strict) anywhere."""
    words = _words(wanted, found)
    enough = len({unit.at for unit in found}) >= MIN_SEPARATED
    states = [_word_state(word, enough=enough) for word in words]
    if "partial" in states and level is Level.DEFAULT:
        return False
    if "spaced" in states or "partial" in states:
        hows.add(How.SEPARATED)
    if len(words) == 1:
        return True
    for number, word in enumerate(words[1:], 1):
        if word[0].gap or word[0].at == words[number - 1][-1].at:
            continue
        if spaceless(word[0].char) or _soft_gap(wanted, number):
            continue
        if states[number] != "spaced" or states[number - 1] != "spaced":
            if level is Level.DEFAULT:
                return False
            hows.add(How.GLUED)
    return True


def _soft_gap(wanted: tuple[Unit, ...], number: int) -> bool:
    gaps = [unit.gap for unit in wanted if unit.gap]
    return number <= len(gaps) and gaps[number - 1] in {"'", "’", "-", "\u2010", "\u2011"}


def _words(wanted: tuple[Unit, ...], found: list[Unit]) -> list[list[Unit]]:
    """The found letters in the words of the rule; runs may be longer than the rule's."""
    if not any(unit.gap for unit in wanted[1:]):
        return [found]
    words: list[list[Unit]] = [[]]
    position = 0
    runs = [len(list(run)) for _, run in groupby(found, lambda unit: unit.letter)]
    want_runs = [list(run) for _, run in groupby(wanted, lambda unit: unit.letter)]
    for length, run in zip(runs, want_runs, strict=True):
        cut = next((at for at, unit in enumerate(run) if unit.gap and (at or position)), None)
        if cut is not None:
            extra = max(0, length - len(run))
            at = position + min(cut + (extra if cut else 0), length)
            gap_at = next((i for i in range(position, position + length) if found[i].gap and i), at)
            words[-1] += found[position:gap_at]
            words.append([])
            words[-1] += found[gap_at : position + length]
        else:
            words[-1] += found[position : position + length]
        position += length
    return [word for word in words if word]


def _word_state(word: list[Unit], *, enough: bool) -> str:
    """``whole``, ``spaced`` (a gap between all letters) or ``partial``."""
    gaps = [bool(unit.gap) for unit in word[1:]]
    if not any(gaps):
        return "whole"
    if any(set(unit.gap) & _CLAUSE_END for unit in word[1:] if spaceless(unit.char)):
        return "partial"
    if all(spaceless(unit.char) for unit in word):
        return _syllable_state(word)
    joined = all(
        unit.gap or unit.letter == before.letter or unit.at == before.at or not unit.letter.isalnum()
        for before, unit in pairwise(word)
    )
    return "spaced" if joined and enough else "partial"


def _syllable_state(word: list[Unit]) -> str:
    """Han, kana and Thai may be parted anywhere; Hangul must be parted at every syllable."""
    hangul = [unit for unit in word if script(unit.char) == "Hang"]
    if not hangul:
        return "spaced"
    first: dict[int, Unit] = {}
    for unit in word:
        first.setdefault(unit.at, unit)
    return "spaced" if all(unit.gap for unit in list(first.values())[1:]) else "partial"


# ------------------------------------------------------------------ innocent look


def _leet_is_fair(found: list[Unit]) -> bool:
    """Whether the digits and signs can be letters: not a number, a quantity, a code or an initial."""
    words: list[str] = [""]
    spaced = sum(bool(unit.gap) for unit in found) > len(found) // 2
    seen = -1
    for unit in found:
        if unit.gap and not spaced:
            words.append("")
        words[-1] += unit.char if unit.at != seen else ""
        seen = unit.at
    return all(_word_is_fair(word) for word in words)


def _word_is_fair(word: str) -> bool:
    leet = [char for char in word if base(char) in LEET or char in LEET]
    if not leet:
        return True
    if len(word) < MIN_LEET or _UNITS.fullmatch(word) or _CODE.fullmatch(word) or _PRICE.fullmatch(word):
        return False
    return len(leet) < len(word) or not any(base(char).isdigit() for char in word)


_BY_SIGNS = frozenset({How.LEET, How.SEPARATED, How.REPEAT})
_ADDRESS = re.compile(r"((?:[a-z]{1,9}://|www\.)[^/\s]*)/\S*|[^\s?&;]+[?&;]\w+=\S*", re.IGNORECASE)
"""A web address with a path or a query: its identifiers are random letters and digits."""
CONTEXT = 200
"""Characters on either side of a match that are searched for an address around it: bounded, so that many
candidates in a long text stay linear."""


def _accents_are_fair(rule: Rule, context: Context, start: int, end: int) -> bool:
    """Whether accents may be folded: in Vietnamese they are tones, and words differ by nothing else."""
    if context.text.isascii() or not rule.core.isascii():
        return True
    inside = len(vietnamese_words(context.text[start:end]))
    return context.vietnamese - inside < VIETNAMESE_WORDS


def _in_address(text: str, start: int) -> bool:
    """Whether the match stands in the path or query of a web address."""
    window = text[max(0, start - CONTEXT) : start + CONTEXT]
    at = min(start, CONTEXT)
    begin = max(window.rfind(gap, 0, at) for gap in " \n\t") + 1
    found = _ADDRESS.match(window, begin)
    return found is not None and found.end() > at and (found[1] is None or found.end(1) <= at)


VIETNAMESE_WORDS = 2
"""Other words with Vietnamese letters from which on a text is taken for Vietnamese."""

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
