"""Whether the letters of a candidate are the rule's, one by one, each difference named."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from itertools import groupby

from worker.rules.fold import LEET, LEET_OTHER, base, natural, script
from worker.rules.model import How, Level
from worker.rules.units import Unit

MIN_CAPITAL_I = 4
"""Fewest letters of a word in which a capital I among small letters may stand for l."""
MIN_STRETCH = 3
"""Fewest equal letters in a row that count as stretching: a doubled letter alone makes other words."""


def letters_agree(wanted: tuple[Unit, ...], found: list[Unit], hows: set[How], level: Level) -> bool:
    """Whether the letters are the rule's, runs stretched or not; what differs is added to ``hows``."""
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
    """How often the text repeats one letter where the rule has fewer; 0 where it does not.

    Digits and bars go with ``i`` and with ``l``; the two together are no repetition.
    """
    wanted, found = pair
    if len(found) <= len(wanted):
        return 0
    if found[0].letter != "i":
        return len(found)
    longest, length, kinds = 0, 0, set[str]()
    for unit in found:
        kind = base(unit.char)
        both = kind in {"i", "l"} and bool(kinds - {kind})
        length, kinds = (1, {kind}) if both else (length + 1, kinds | ({kind} & {"i", "l"}))
        longest = max(longest, length)
    return longest


def _run_agrees(wanted: list[Unit], found: list[Unit], whole: list[Unit], hows: set[How]) -> bool:
    """Whether a run of text letters can be the run of rule letters, in order, each at least once."""
    reached: dict[int, frozenset[How]] = {-1: frozenset()}
    for unit in found:
        step: dict[int, frozenset[How]] = {}
        for at, before in reached.items():
            for to in (at, at + 1):
                how = _letter_how(wanted[to], unit, whole) if 0 <= to < len(wanted) else None
                if how is not None and to not in step:
                    step[to] = before | {how}
        reached = step
    hows |= reached.get(len(wanted) - 1, frozenset())
    return len(wanted) - 1 in reached


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


def _evasive_how(  # noqa: PLR0911  # a table of cases, one line each
    want: str, char: str, found: Unit, whole: list[Unit]
) -> How | None:
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
    if want.isdigit() or (char.isdigit() and len(char) > 1):
        return None
    if char.isdigit():  # a digit of another script, by value or by looks
        return How.LEET if want in LEET.get(str(unicodedata.digit(char)), "") else How.HOMOGLYPH
    return How.VARIANT if script(want[:1] or " ") == script(char[:1] or " ") else How.HOMOGLYPH


def _capital_for_l(unit: Unit, whole: list[Unit]) -> bool:
    """Whether a capital I may stand for l: in letters of another font, or among small letters."""
    if unit.char != "I":
        return unicodedata.normalize("NFKC", unit.char) == "I"
    others = [other.char for other in whole if other.char != "I"]
    return len(whole) >= MIN_CAPITAL_I and whole[0].at != unit.at and all(char.islower() for char in others)
