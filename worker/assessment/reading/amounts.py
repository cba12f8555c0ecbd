"""Whether the numbers and times of a sentence stand in its evidence, with their units, or follow from it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from typing import Final

from worker.assessment.reading.arithmetic import Derived, derived_numbers, follows, values_of
from worker.assessment.reading.dates import (
    counted_ordinals,
    counted_years,
    named_dates,
    without_known_days,
)
from worker.assessment.reading.languages import language_of, same_language, says
from worker.assessment.reading.numbers import DAY_MINUTES, Figures, figures
from worker.assessment.reading.polarity import headed
from worker.assessment.reading.units import (
    BARE,
    TEMPERATURES,
    THING,
    Amounts,
    amounts,
    is_converted,
    period_ratios,
    periods,
    worded_amounts,
)
from worker.assessment.reading.zones import zone_steps
from worker.assessment.text.wordlists import folded_text, list_pattern

HALF_DAY: Final = DAY_MINUTES // 2
LEAST_STEP: Final = 10
"""Minutes that people add to a time of day, or take from it, up to half a day."""
MOST_HOURS: Final = 4
"""Hours below which "1 h 15" is a duration as well as a time."""
MOST_NUMBERS: Final = 100
"""Numbers of a sentence that are compared; more are no reply to a customer."""
PHONE: Final = re.compile(r"(?<![\w+])(?:\+\d|\(?0)[\d ()/\u2013-]{5,}\d")
"""A number that begins with a zero or a plus, and its groups."""
MOST_COUNTRY_DIGITS: Final = 3
DURATIONS: Final = frozenset({"day", "week", "month", "year"})
LEAST_TABLE: Final = 3
"""Amounts with one unit that are a table; two may be one range ("14 to 30 days")."""
NONE_STATED: Final[Amounts] = frozenset()
OF_TIMES: Final = BARE | {"hour", "day", "month"}
"""Units that the hour or minute of a time, or a number of a calendar day, may have."""


def missing_figures(
    sentence: str, *, draft: str, quoted: str, beside: str, question: str, asked: str, written: str
) -> list[str]:
    """The numbers and times of a sentence that its evidence does not give.

    They may stand in a quote or in its paragraph, in the question, or follow by arithmetic: two steps where
    the sentence says that it concludes ("so", "that makes"), else one. A number with a unit of measure must
    have that unit there, and must not stand for another amount of the quotes. Earlier lines of the
    conversation are no evidence: arithmetic and counts may use them.
    """
    undated, days = without_known_days(sentence, f"{quoted}\n{question}", written)
    said = figures(_without_known_phones(undated, f"{quoted}\n{beside}"))
    if not said.numbers and not said.times:
        return []
    if len(said.numbers) > MOST_NUMBERS:
        return [f"{len(said.numbers)} numbers"]
    known = [figures(quoted), figures(question), figures(beside)]
    units, comparable = _written_units(known, figures(draft)), same_language(sentence, quoted)
    denies = says("negating", headed(sentence)[1], language_of(sentence))
    measured = {day for day in days if units.get(day) and BARE.isdisjoint(units[day])}

    def stands(readings: frozenset[str], unit: str, stated: Amounts = NONE_STATED) -> bool:
        has_unit = _has_unit(readings, unit, units, stated, comparable=comparable)
        fits = unit not in BARE or readings.isdisjoint(measured)  # 14 days are no 14 December
        return fits and has_unit and not _replaces(readings, unit, figures(draft), known, denies=denies)

    times = frozenset().union(*(each.times | each.possible_times for each in known))
    doubted = [each for each in said.units_of() if not stands(*each)]
    late = [
        time
        for time in said.times
        if (not _is_known(time, times, units) or _replaces_time(time, figures(draft), known))
        and time not in figures(written).times
    ]
    if not doubted and not late:  # most sentences need nothing else
        return []
    worded = _in_words(f"{quoted}\n{beside}\n{question}")
    bare = _hours(times) | _calendar(f"{quoted}\n{question}")
    earlier = figures(asked)
    counts = frozenset().union(*(each for each, unit in earlier.units_of() if unit in BARE))
    ordinals = counted_ordinals(quoted)
    stated = frozenset().union(*(each.amounts for each in (*known, worded)))
    unknown = [
        (readings, unit)
        for readings, unit in doubted
        if (unit not in OF_TIMES or readings.isdisjoint(bare))
        and (unit not in BARE or readings.isdisjoint(counts))
        and not any(number in readings and unit in {its_unit, *BARE} for number, its_unit in ordinals)
        and not _is_example(readings, sentence)
        and not stands(readings, unit, stated)
    ]
    if unknown:
        before = figures(draft.partition(sentence)[0])
        others = [known[0], earlier, *known[1:], worded]
        ratios = period_ratios(f"{sentence}\n{quoted}") if periods(sentence) else frozenset()
        derived = derived_numbers(sentence, said, before, others, bare=bare, ratios=ratios)
        derived |= _apart(said.times if len(said.times) > 1 else known[0].times | known[1].times)
        unknown = [each for each in unknown if not follows(*each, derived)]
    if late:
        steps = zone_steps(sentence, quoted, written) - {0}
        zoned = {(time + step) % DAY_MINUTES for time in known[0].times for step in steps}
        if list_pattern("noon_or_midnight").search(folded_text(f"{quoted}\n{beside}\n{question}")):
            zoned |= {0, HALF_DAY}
        late = [time for time in late if time not in zoned and not _follows(time, known, worded)]
    return [max(readings) for readings, _ in unknown] + [f"{time // 60}:{time % 60:02}" for time in late]


def _in_words(evidence: str) -> Figures:
    """Amounts that the evidence names without a figure; those of a sentence need no ground."""
    found = worded_amounts(evidence)
    return Figures(numbers=tuple(readings for readings, _ in found), units=tuple(unit for _, unit in found))


def _without_known_phones(sentence: str, evidence: str) -> str:
    """The sentence without the phone numbers that the evidence has, in any grouping and from abroad."""
    known = [_digits(each[0]).lstrip("0") for each in PHONE.finditer(evidence)]

    def left(found: re.Match[str]) -> str:
        digits = _digits(found[0])
        abroad = MOST_COUNTRY_DIGITS if found[0].startswith("+") else 0
        is_known = any(
            digits.endswith(each) and len(digits) - len(each) <= max(abroad, digits.startswith("0"))
            for each in known
        )
        return " " if is_known else found[0]

    return PHONE.sub(left, sentence) if known else sentence


def _digits(text: str) -> str:
    return "".join(filter(str.isdigit, text))


def _written_units(known: Sequence[Figures], draft: Figures) -> dict[str, set[str]]:
    """Each number of the evidence with its units there; "" for those that the draft has without a unit too.

    A draft that says "Zone 2" has used the bare number of the evidence: "2 euros" needs its own.
    """
    bare = frozenset().union(*(each for each, unit in draft.units_of() if unit in BARE))
    found: dict[str, set[str]] = {}
    for each in known:
        for readings, unit in each.units_of():
            for reading in readings:
                used = reading in bare and unit in BARE
                found.setdefault(reading, set()).update(() if used else (unit,))
    return found


def _has_unit(
    readings: frozenset[str], unit: str, written: Mapping[str, set[str]], stated: Amounts, *, comparable: bool
) -> bool:
    """Whether the evidence has a number with that unit, or with what may be one in another language."""
    units = frozenset().union(*(written.get(reading, ()) for reading in readings))
    if unit in BARE:
        return any(reading in written for reading in readings)
    if unit in units or "" in units or (THING in units and (not comparable or unit in TEMPERATURES)):
        return True
    return not amounts(readings, unit).isdisjoint(stated) or is_converted(readings, unit, stated)


def _replaces(
    readings: frozenset[str], unit: str, draft: Figures, known: Sequence[Figures], *, denies: bool
) -> bool:
    """Whether an amount stands in place of an amount that the quotes have and the draft leaves out.

    A sentence that ``denies`` may repeat the amount of the question: "after 5 weeks you cannot".
    """
    if unit in BARE or not amounts(readings, unit).isdisjoint(known[0].amounts):
        return False
    if denies and not amounts(readings, unit).isdisjoint(known[1].amounts):
        return False
    if _is_between(readings, unit, known):
        return False
    bare = frozenset().union(*(each for each, its_unit in draft.units_of() if its_unit in BARE))
    alike = DURATIONS if unit in DURATIONS else {unit}
    others = [each for each, its_unit in known[0].units_of() if its_unit in alike]
    elsewhere = [each - bare for each, its_unit in known[0].units_of() if its_unit in BARE]
    kept = frozenset().union(*others, *elsewhere)
    return bool(others) and draft.readings.isdisjoint(kept)


def _is_between(readings: frozenset[str], unit: str, known: Sequence[Figures]) -> bool:
    """Whether an amount of the question lies between those of a table: 4 kg, "to 2 kg, to 5 kg, to 10 kg"."""
    if amounts(readings, unit).isdisjoint(known[1].amounts):
        return False
    stated = {value for value, its_unit in values_of(known[0].units_of()) if its_unit == unit}
    asked = [value for value, _ in values_of([(readings, unit)])]
    return len(stated) >= LEAST_TABLE and any(min(stated) < value < max(stated) for value in asked)


def _hours(times: frozenset[int]) -> frozenset[str]:
    """Times, their hours and their minutes as bare numbers: "18.30", "9 to 17", "seis y media"."""
    parts = [(hour, time % 60) for time in times for hour in (time // 60, time // 60 % 12)]
    dotted = (f"{hour}.{minute:02}".rstrip("0") for hour, minute in parts if minute)
    halves = (f"{hour}.5" for hour, minute in parts if minute == 30)
    return frozenset((*(str(each) for pair in parts for each in pair), *dotted, *halves))


def _calendar(text: str) -> frozenset[str]:
    """Numbers of the months that a text names, and of years that it lets count, as bare numbers."""
    named = (date[5:] for date in named_dates(text) if date.startswith("month"))
    return frozenset((*named, *counted_years(text)))


def _is_example(readings: frozenset[str], sentence: str) -> bool:
    """Whether a sentence names a number as an example that lies between two others of its numbers."""
    if not says("examples", folded_text(sentence), language_of(sentence)):
        return False
    values = [value for value, _ in values_of(figures(sentence).units_of())]
    said = [value for value, _ in values_of([(readings, "")])]
    return any(min(values) < value < max(values) for value in said)


def _is_known(time: int, times: frozenset[int], numbers: Mapping[str, set[str]]) -> bool:
    bare = {str(time // 60), str(time // 60 % 12 or 12)} if time % 60 == 0 else set()
    return time in times or (time + HALF_DAY) % DAY_MINUTES in times or not bare.isdisjoint(numbers)


def _replaces_time(time: int, draft: Figures, known: Sequence[Figures]) -> bool:
    """Whether a time of the paragraph stands in place of the times of the quotes, none of which is said."""
    quoted, asked = ({each % HALF_DAY for each in found.times | found.possible_times} for found in known[:2])
    said = {each % HALF_DAY for each in draft.times | draft.possible_times}
    return bool(quoted) and said.isdisjoint(quoted) and time % HALF_DAY not in asked


def _follows(time: int, known: list[Figures], worded: Figures) -> bool:
    """Whether a time lies a duration of the evidence before or after one of its times or full hours."""
    numbers = {value * 60 for each in known for value, unit in values_of(each.units_of()) if unit in BARE}
    bases = {base for base in numbers if base <= DAY_MINUTES}
    bases |= {time for each in known for time in each.times | each.possible_times}
    steps = frozenset().union(*map(_durations, (*known, worded)))
    return any(
        (base + sign * step) % HALF_DAY == time % HALF_DAY
        for base in bases
        for step in steps
        if LEAST_STEP <= step <= HALF_DAY
        for sign in (1, -1)
    )


def _durations(found: Figures) -> frozenset[float]:
    """The minutes of the durations in hours and minutes of a text, "1 hour 50 minutes" as one."""
    parts = [
        (value * (60 if unit == "hour" else 1), unit)
        for value, unit in values_of(found.units_of())
        if unit in ("hour", "minute")
    ]
    sums = (one + other for (one, unit), (other, its) in pairwise(parts) if (unit, its) == ("hour", "minute"))
    short = (time for time in found.times if time < MOST_HOURS * 60)
    return frozenset((*(value for value, _ in parts), *sums, *short))


def _apart(times: frozenset[int]) -> Derived:
    """The hours and minutes between two times of day, as one amount and as two."""
    gaps = {(later - sooner) for sooner, later in combinations(sorted(times), 2)}
    whole = {pair for gap in gaps for pair in ((gap / 60, "hour"), (float(gap), "minute"))}
    parts = {pair for gap in gaps for pair in ((gap // 60, "hour"), (gap % 60, "minute"))}
    return frozenset((round(value, 2), unit) for value, unit in (*whole, *parts))
