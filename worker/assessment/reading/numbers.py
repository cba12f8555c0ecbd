"""Numbers and times of day of a text, in digits or in words, in one spelling."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from typing import Final

from icu4py.messageformat import MessageFormat

from worker.assessment.reading.digits import in_digits
from worker.assessment.reading.languages import language_of
from worker.assessment.reading.units import BARE, MONEY, Amounts, amounts, unit_beside
from worker.assessment.text.once import KEPT_TEXTS
from worker.assessment.text.wordlists import folded_text, list_words

_NUMBER: Final = re.compile(r"(?<![\w.,])\d+(?:[.,'’\u00a0\u202f ]\d{3}(?!\d))+(?:[.,]\d+)?|\d+(?:[.,]\d+)?")
_THOUSANDS: Final = re.compile(r"[.,'’\u00a0\u202f ](?=\d{3}(?!\d))")
_CLOCK: Final = re.compile(
    r"(?<![\d.,])(?P<hour>2[0-4]|[01]?\d)(?:(?P<sign>[:.h])(?P<minute>[0-5]\d)(?!\d|[.,]\d))?"
    r"(?:\s?(?P<half>[ap])\.?\s?m\b|\s?(?P<word>uhr\b|o'?clock\b|h\b|giờ\b|heures?\b|uur\b|बजे|(?:時|时|點|点|시)(?!間|间|간))"
    r"(?:\s?(?P<after>[0-5]?\d)(?:分|분)?|(?P<thirty>半|반))?)?",
    re.IGNORECASE,
)
_HOURS: Final = re.compile(r"h\b|giờ|heure|uur")
"""Words of a time of day that also count hours."""
_RANGE: Final = re.compile(
    r"\s*(?:-|–|—|~|〜|×|x|to|or|and|bis|oder|und|à|ou|et|a|o|y|e|al|do|tot|đến|hoặc|到|至|或|から)\s*"
)
"""Between two numbers with one unit: "14 to 30 days", "90 × 60 cm"."""
_TIMES: Final = re.compile(r"\s*[×x]\s*")
"""Between a count and a price: "20 × 3.20 euros"."""
_AND_A_HALF: Final = re.compile(
    r"(?P<directly>\sand a half|einhalb|[eë]nhalf|\si pół|[个個]?半)"
    r"|(?:時間|\s[^\W\d_]{1,12})?(?:半|\s(?:et demie?|y medi[ao]|e mezz[ao]|e mei[ao])(?!\w))"
)
"""After a number, or the word that it counts: "two and a half hours", "deux heures et demie"."""
_HALF_ENDING: Final = re.compile(r"(?:einhalb|[eë]nhalf)$")
_DAY_OF_DATE: Final = re.compile(r"(\d{1,2})\.(?:0?[1-9]|1[0-2])")
"""Day and month that "15.01.2027" and "15.01." begin with."""
_WORD: Final = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_HAN_NUMBER: Final = re.compile(
    r"(?<![周週期拜])[〇零一二两兩三四五六七八九十百千]+"
    r"(?=[个個]?(?:天|日|個月|个月|ヶ月|か月|年|周|週|星期|小时|小時|時間|時|时|分|点|點|元|円|欧|歐|欧元|本|次|回|人|位|晚|泊|间|間|杯|瓶|盒|套|种|種|岁|歳|名|件|份|台|页|頁|张|張|枚|倍|折|楼|階|週間))"
)
"""A number in Han figures before a counter; without one it may be part of any word (三明治, 十分)."""
_HAN_VALUES: Final = {c: i for i, c in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2, "兩": 2}
_HAN_UNITS: Final = {"十": 10, "百": 100, "千": 1000}

_IN_TWO_WORDS: Final = re.compile(r"[2-9]0 \d|\d 100")
_JOINT: Final = re.compile(r"\s(?:[ey]\s)?")
SPELLED_LANGUAGES: Final = ("en", "de", "fr", "es", "it", "pt", "nl", "pl", "vi", "tr")
"""Languages in Latin letters whose number words ICU spells here; a document may be in any of them."""
SPELLED_OTHERWISE: Final = ("ru", "ar")
"""Others, loaded for the first text in their letters: 3 MB."""
_OTHER_LETTER: Final = re.compile("[\u0400-\u06ff]")
"""Cyrillic to Arabic."""
OTHERWISE_A_WORD: Final = {"ten": "en", "dos": "es", "sept": "fr", "seize": "fr", "sete": "pt"}
"""Number words of a language that are everyday words in another ("sac à dos")."""
MOST_NUMBERS: Final = 2_000
"""Numbers of a text that are read."""
MOST_SPELLED: Final = 100
"""Larger numbers are written in digits."""
DAY_MINUTES: Final = 24 * 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The figures of one text.

    Attributes:
        numbers: every number as all its possible readings ("1.000" is 1 or 1000), in the order of the text.
        units: the unit of each number, "" where none is certain.
        times: minutes after midnight of every time of day that is written as one.
        possible_times: the same of numbers that may be a time ("19 heures", "18.30"), which are numbers.
    """

    numbers: tuple[frozenset[str], ...] = ()
    units: tuple[str, ...] = ()
    times: frozenset[int] = frozenset()
    possible_times: frozenset[int] = frozenset()

    @property
    def readings(self) -> frozenset[str]:
        """Every reading of every number."""
        return frozenset().union(*self.numbers)

    def units_of(self) -> Iterator[tuple[frozenset[str], str]]:
        """Every number with its unit."""
        return zip(self.numbers, self.units, strict=True)

    @property
    def amounts(self) -> Amounts:
        """Every number that has a unit of measure, in every unit that can express it."""
        return frozenset().union(*(amounts(readings, unit) for readings, unit in self.units_of()))


@lru_cache(maxsize=KEPT_TEXTS)
def figures(text: str) -> Figures:
    """The numbers and times of day of a text; a time is no number."""
    sure: set[int] = set()
    possible: set[int] = set()
    plain = _CLOCK.sub(lambda found: _without_time(found, sure, possible), in_digits(text))
    places = [
        (each.start(), each.end(), _digit_readings(each[0]) | _days(each[0], plain[each.end() :][:1]))
        for each in _NUMBER.finditer(plain)
    ]
    places += [(start, end, frozenset({value})) for start, end, value in _joined_places(plain)]
    places = sorted(places, key=lambda place: place[0])[:MOST_NUMBERS]
    places = [_with_half(plain, place) for place in places]
    units = [unit_beside(plain, start, end) for start, end, _ in places]
    for index, ((_, end, _), (start, _, _)) in reversed(list(enumerate(pairwise(places)))):
        between, unit = plain[end:start], units[index + 1]
        is_factor = unit in MONEY and _TIMES.fullmatch(between) is not None
        if units[index] == "" and end <= start and _RANGE.fullmatch(between) and not is_factor:
            units[index] = unit
    return Figures(
        numbers=tuple(
            _of_money(readings) if unit in MONEY else readings
            for (_, _, readings), unit in zip(places, units, strict=True)
        ),
        units=tuple(units),
        times=frozenset(sure),
        possible_times=frozenset(possible),
    )


def _with_half(plain: str, place: tuple[int, int, frozenset[str]]) -> tuple[int, int, frozenset[str]]:
    """The place and readings of a number with the half that its text adds to it."""
    start, end, readings = place
    if (half := _AND_A_HALF.match(plain, end)) is None:
        return place
    halves = frozenset(f"{each}.5" for each in readings if each.isdigit())
    return start, half.end() if half["directly"] else end, halves or readings


def _without_time(found: re.Match[str], sure: set[int], possible: set[int]) -> str:
    """A space for a time of day, which is added to the times; other text unchanged."""
    sign = found["minute"] and found["sign"]
    hour = int(found["hour"])
    if not (found["half"] or found["word"] or (sign and sign != ".")):
        if sign and unit_beside(found.string, *found.span()) in {*BARE, "hour"}:
            possible.add((hour * 60 + int(found["minute"])) % DAY_MINUTES)
        return found[0]
    if found["half"]:
        hour = hour % 12 + (12 if found["half"].lower() == "p" else 0)
    minute = 30 if found["thirty"] else int(found["minute"] or found["after"] or 0)
    time = (hour * 60 + minute) % DAY_MINUTES
    if found["word"] and not (sign or found["after"] or found["thirty"]) and _HOURS.match(found["word"]):
        possible.add(time)
        return found[0]
    sure.add(time)
    return " "


def _digit_readings(number: str) -> frozenset[str]:
    """The readings of a number: a point or comma divides thousands or decimals, in "6,000" thousands."""
    bare = _THOUSANDS.sub("", number).replace(",", ".")
    readings = {_canonical(bare)} if bare.count(".") <= 1 else {bare}
    if re.fullmatch(r"\d{1,3}[.,](?!000)\d{3}", number):
        readings.add(_canonical(number.replace(",", ".")))
    return frozenset(readings)


def _days(number: str, after: str) -> frozenset[str]:
    """The day that a number may mean where a dot follows, in "15.01.2027"."""
    found = _DAY_OF_DATE.fullmatch(number) if after == "." else None
    return frozenset({_canonical(found[1])}) if found else frozenset()


def _of_money(readings: frozenset[str]) -> frozenset[str]:
    """The readings of an amount of money: of two the one in thousands."""
    return frozenset({max(readings, key=float)}) if len(readings) > 1 else readings


def _canonical(number: str) -> str:
    if "." in number:
        number = number.rstrip("0").rstrip(".")
    return number.lstrip("0") or "0"


def _joined_places(folded: str) -> list[tuple[int, int, str]]:
    """The same, with two words for one number as one place: "quarenta e oito", "dokuz yüz"."""
    found: list[tuple[int, int, str]] = []
    for start, end, value in _spelled_places(folded):
        first, last, before = found[-1] if found else (0, 0, "")
        if _IN_TWO_WORDS.fullmatch(f"{before} {value}") and _JOINT.fullmatch(folded, last, start):
            found[-1] = (first, end, before[0] + value[-2:])
        else:
            found.append((start, end, value))
    return found


def _spelled_places(folded: str) -> Iterator[tuple[int, int, str]]:
    """(start, end, number) of the numbers from 2 that folded text spells in words or in Han figures."""
    further = SPELLED_OTHERWISE if _OTHER_LETTER.search(folded) else ()
    known = _spelled((*SPELLED_LANGUAGES, *further))
    for word in _WORD.finditer(folded):
        value, end = known.get(word[0].replace("-", "")), word.end()
        if value is None and word[0].endswith(("halb", "half")):
            stem = _HALF_ENDING.sub("", word[0])
            value, end = known.get(stem), word.start() + len(stem)
        if value is None and "-" in word[0]:
            first = word[0].partition("-")[0]
            value, end = known.get(first), word.start() + len(first)
        if value is not None and _counts(word[0], folded):
            yield word.start(), end, value
    for run in _HAN_NUMBER.finditer(folded):
        if (figure := _han_value(run[0])) is not None and figure > 1:
            yield run.start(), run.end(), str(figure)


def _counts(word: str, folded: str) -> bool:
    """Whether a number word is one here: "ten" in English, while a Spanish text says "ten en cuenta"."""
    own = OTHERWISE_A_WORD.get(word)
    return own is None or language_of(folded) in (None, own)


@cache
def _spelled(languages: Sequence[str]) -> dict[str, str]:
    """Word -> number, without words that mean something else in another of the languages."""
    found: dict[str, str] = {}
    for language in languages:
        spell = MessageFormat("{n, spellout}", language)
        for value in range(2, MOST_SPELLED + 1):
            word = folded_text(spell.format({"n": value}).replace("\u00ad", "")).replace("-", "")
            if " " not in word:
                found.setdefault(word, str(value))
                found.setdefault(word.removesuffix("ة"), str(value))  # before a feminine noun in Arabic
    ambiguous = list_words("number_homographs")
    return {word: value for word, value in found.items() if word not in ambiguous}


def _han_value(run: str) -> int | None:
    total, digit = 0, None
    for sign in run:
        if (unit := _HAN_UNITS.get(sign)) is not None:
            total += (1 if digit is None else digit) * unit
            digit = None
        elif digit is not None:
            return None
        else:
            digit = _HAN_VALUES[sign]
    return total + (digit or 0)
