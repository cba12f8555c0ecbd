"""Whether a reply affirms a time or a day that its quotes leave out: 1 pm, where they say "from 3 pm"."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from worker.assessment.reading.dates import EVERY_DAY, MONTHS, covered_dates, without_date_names
from worker.assessment.reading.languages import denies, has_words, language_of
from worker.assessment.reading.limits import CLAUSE
from worker.assessment.reading.numbers import DAY_MINUTES, figures, placed_times
from worker.assessment.reading.polarity import headed
from worker.assessment.text.wordlists import folded_text, list_pattern, list_words, phrase_pattern

_TO: Final = r"\s?(?:[-–—~〜]|to|until|till|bis|à|a|às|as|alle|tot|do|đến|до|إلى|から|부터|至|到)\s?"
"""Between the ends of a range."""
_RANGE: Final = re.compile(_TO)
_FIRST_HOUR: Final = re.compile(rf"(?<![\d.,:])(\d{{1,2}}){_TO}$")
"""The first end where only the last one is written as a time: "9–18 Uhr"."""
_FROM: Final = re.compile(r"から|以降|以后|之后|起|부터")
_UNTIL: Final = re.compile(r"まで|以前|之前|前|까지|이전")
"""After a time in Chinese, Japanese and Korean."""
_HALF_OF_DAY: Final = re.compile(
    r"上午|下午|早上|晚上|中午|凌晨|午前|午後|夜|朝|夕方|오전|오후|아침|저녁|밤|\b(?:sáng|trưa|chiều|tối|ص|م|"
    r"صباحا|مساء|morning|afternoon|evening|night|nachmittags?|abends?|morgens|früh|matin|soir|"
    r"mañana|tarde|noche|mattin[ao]|sera|manhã|noite|avond|middag|ochtend|rano|wieczorem|po południu|"
    r"утра|дня|вечера|öğleden|akşam|sabah)\b"
)
"""Words that say of an hour which half of the day it is in."""
_MARKED: Final = re.compile(r"\d\s?[ap]\.?m\b")
_SIGNS: Final = re.compile(r"[\W\d_]+")
ENDING: Final = frozenset({"ends", "endet"})
"""Words for closed that also say until when."""
LAST_OF_TWELVE: Final = DAY_MINUTES // 2 + 59
"""Last minute that a clock of twelve hours shows: 12:59."""


def yes_outside(sentence: str, quoted: str) -> str | None:
    """A time that a yes in the words of the quotes names outside their one bound or range, or None."""
    head, body = headed(sentence)
    if head != "yes" or not figures(body).times:
        return None
    other = folded_text(quoted)
    if denies(f"{body}\n{other}", language_of(quoted)):
        return None
    return _outside_time(body, other) if has_words(body, other) or _same_bound(body, other) else None


def _same_bound(said: str, quoted: str) -> bool:
    """Whether two texts have one time each with the same kind of bound: "ab 17 Uhr", "ab 18 Uhr"."""
    places = placed_times(said), placed_times(quoted)
    if any(len(times) != 1 for _, times in places):
        return False
    before = [plain[: times[0][0]] for plain, times in places]
    return any(all(map(_before(name).search, before)) for name in ("bounds_from", "bounds_until"))


def _outside_time(said: str, quoted: str) -> str | None:
    """The time of day of a folded text that lies outside the bound or range of folded quotes, or None.

    So does a time in their very words: "the tour starts at 11:00", where they say that it starts at 10:00.
    """
    (_, found), (_, stated) = placed_times(said), placed_times(quoted)
    times, known = ([time for *_, time in places] for places in (found, stated))
    if len(times) == len(known) == 1 and _SIGNS.sub("", said) == _SIGNS.sub("", quoted):
        allowed: tuple[int, int] | None = (known[0], known[0])
    else:
        allowed = _allowed(quoted) if times else None
    if allowed is None or _HALF_OF_DAY.search(f"{said}\n{quoted}"):
        return None
    if _may_be_later(said, times) or _may_be_later(quoted, known):
        return None
    late = [each for each in times if not allowed[0] <= each <= allowed[1]]
    return f"{late[0] // 60}:{late[0] % 60:02}" if late else None


def _allowed(quoted: str) -> tuple[int, int] | None:
    """First and last minute of the day that a text with one bound or one range names, else None."""
    plain, places = placed_times(quoted)
    if len(places) == 2:
        (_, end, first), (start, _, last) = places
        return (first, last) if first < last and _RANGE.fullmatch(plain[end:start]) else None
    if len(places) != 1:
        return None
    ((start, end, time),) = places
    if (hour := _FIRST_HOUR.search(plain[:start])) is not None:
        return (int(hour[1]) * 60, time) if int(hour[1]) * 60 < time else None
    if _before("bounds_from").search(plain[:start]) or _FROM.match(plain, end):
        return time, DAY_MINUTES
    if _before("bounds_until").search(plain[:start]) or _UNTIL.match(plain, end):
        return 0, time
    return None


@cache
def _before(name: str) -> re.Pattern[str]:
    """A pattern for a phrase of a list at the end of a text."""
    return re.compile(rf"(?:{list_pattern(name).pattern})\s$")


def _may_be_later(text: str, times: list[int]) -> bool:
    """Whether a time of an English text may be one after noon: "3:00", without "am", "pm" or an "18:00"."""
    is_early = max(times) <= LAST_OF_TWELVE
    return is_early and language_of(text) in (None, "en") and _MARKED.search(text) is None


def closed_day(sentence: str, quoted: str, question: str) -> str | None:
    """A day of the week that a sentence without a denial names, and that its quotes call closed, or None."""
    days, other = covered_dates(sentence) & EVERY_DAY, folded_text(quoted)
    if not (days and _closed().search(other)) or denies(folded_text(sentence), language_of(sentence)):
        return None
    closed, stated = set[str](), set[str]()
    for clause in CLAUSE.findall(other):
        is_closed = _is_closed(clause, f"{sentence}\n{question}")
        (closed if is_closed else stated).update(covered_dates(clause))
    return min(days & closed - stated, default=None)


def _is_closed(clause: str, named: str) -> bool:
    """Whether a folded clause says that whole days are closed, and of nothing else than a text names."""
    found, rest = figures(clause), _closed().sub(" ", without_date_names(clause))
    if found.numbers or found.times or not covered_dates(clause).isdisjoint(MONTHS):
        return False
    return _closed().search(clause) is not None and has_words(rest, folded_text(named))


@cache
def _closed() -> re.Pattern[str]:
    return phrase_pattern(tuple(sorted(list_words("closed") - ENDING)))
