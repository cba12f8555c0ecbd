"""Whether the numbers and times of a sentence stand in its evidence, with their units, or follow from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Final

from worker.assessment.reading.arithmetic import derived_numbers, values_of
from worker.assessment.reading.clauses import content_of, speaking_of
from worker.assessment.reading.dates import counted_days, counted_years, named_dates
from worker.assessment.reading.languages import language_of, same_language, says
from worker.assessment.reading.numbers import DAY_MINUTES, Figures, figures
from worker.assessment.reading.units import BARE, THING, UNITS, Amounts, amounts
from worker.assessment.text.wordlists import folded_text
from worker.assessment.text.words import split_sentences

HALF_DAY: Final = DAY_MINUTES // 2
LEAST_STEP: Final = 10
MOST_STEP: Final = 90
"""Minutes that people add to a time of day ("45 minutes before closing")."""
MOST_NUMBERS: Final = 100
"""Numbers of a sentence that are compared; more are no reply to a customer."""
MOST_TIMES: Final = 24
"""Times of the evidence of which the hours between two are known."""
MEASURED: Final = frozenset(UNITS - {"hour", "minute", "day", "month"})
"""Units that a bare hour of a time, or a number of a calendar day, cannot have."""


def missing_figures(sentence: str, *, draft: str, quoted: str, passages: str, question: str) -> list[str]:
    """The numbers and times of a sentence that its evidence does not give.

    They may stand in a quote, in the question, or in a sentence of the passages that speaks of the same, or
    follow by arithmetic: two steps where the sentence says that it concludes ("so", "that makes"), else
    one. A number with a unit of measure must have that unit there, and must not stand for another amount of
    the quotes.
    """
    said = figures(sentence)
    if not said.numbers and not said.times:
        return []
    if len(said.numbers) > MOST_NUMBERS:
        return [f"{len(said.numbers)} numbers"]
    parts = speaking_of(sentence, passages)
    known = [figures(quoted), figures(question), *map(figures, parts)]
    times = frozenset().union(*(each.times | each.possible_times for each in known))
    bare = _hours(times) | _hours_between(times | said.times) | _calendar(f"{quoted}\n{question}")
    derived = derived_numbers(sentence, said, known, bare)
    written = _written_units(known, figures(draft))
    comparable = same_language(sentence, quoted)
    stated = frozenset().union(*(each.amounts for each in known))
    missing = [
        readings
        for readings, unit in said.units_of()
        if readings.isdisjoint(derived if unit in MEASURED else derived | bare)
        and not _is_example(readings, sentence)
        and (
            not _has_unit(readings, unit, written, stated, comparable=comparable)
            or _replaces(readings, unit, figures(draft), known)
            or _is_misplaced(readings, unit, sentence=sentence, quoted=quoted, question=question, parts=parts)
        )
    ]
    numbers = _hours(times) | written.keys()
    late = [time for time in said.times if not _is_known(time, times, numbers) and not _follows(time, known)]
    return [max(each) for each in missing] + [f"{time // 60}:{time % 60:02}" for time in late]


def _is_misplaced(
    readings: frozenset[str], unit: str, *, sentence: str, quoted: str, question: str, parts: Sequence[str]
) -> bool:
    """Whether an amount stands only in sentences that are less like the sentence than its quotes are.

    The quotes must have another amount in that unit, which the sentence does not state.
    """
    said = amounts(readings, unit)
    others = [each for each, its_unit in figures(quoted).units_of() if its_unit == unit]
    if unit in BARE or not others or not said.isdisjoint(figures(quoted).amounts | figures(question).amounts):
        return False
    bare = frozenset().union(*(each for each, its_unit in figures(quoted).units_of() if its_unit in BARE))
    if not figures(sentence).readings.isdisjoint(bare.union(*others)) or not same_language(sentence, quoted):
        return False
    words = content_of(sentence)
    alike = max(len(words & content_of(part)) for part in split_sentences(quoted))
    holding = [part for part in parts if not said.isdisjoint(figures(part).amounts)]
    return alike > max((len(words & content_of(part)) for part in holding), default=0)


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
    if unit in units or "" in units or (THING in units and not comparable):
        return True
    return not amounts(readings, unit).isdisjoint(stated)


def _replaces(readings: frozenset[str], unit: str, draft: Figures, known: Sequence[Figures]) -> bool:
    """Whether an amount stands in place of one that the quotes have and the draft leaves out."""
    if unit in BARE or not amounts(readings, unit).isdisjoint(known[0].amounts | known[1].amounts):
        return False
    bare = frozenset().union(*(each for each, its_unit in draft.units_of() if its_unit in BARE))
    others = [each for each, its_unit in known[0].units_of() if its_unit == unit]
    elsewhere = [each - bare for each, its_unit in known[0].units_of() if its_unit in BARE]
    kept = frozenset().union(*others, *elsewhere)
    return bool(others) and draft.readings.isdisjoint(kept)


def _hours(times: frozenset[int]) -> frozenset[str]:
    """Hours and minutes of times as bare numbers: "9 to 17"."""
    return frozenset(str(part) for time in times for part in (time // 60, time // 60 % 12, time % 60))


def _hours_between(times: frozenset[int]) -> frozenset[str]:
    """Whole hours between two times, as bare numbers."""
    few = sorted(times)[:MOST_TIMES]
    return frozenset(str((other - one) // 60) for one, other in combinations(few, 2))


def _calendar(text: str) -> frozenset[str]:
    """Numbers of the months that a text names, and of days and years that it lets count, as bare numbers."""
    named = (date[5:] for date in named_dates(text) if date.startswith("month"))
    days = (str(number) for counted in counted_days(text) for number in counted)
    return frozenset((*named, *days, *counted_years(text)))


def _is_example(readings: frozenset[str], sentence: str) -> bool:
    """Whether a sentence names a number as an example that lies between two others of its numbers."""
    if not says("examples", folded_text(sentence), language_of(sentence)):
        return False
    values = [value for value, _ in values_of(figures(sentence).units_of())]
    said = [value for value, _ in values_of([(readings, "")])]
    return any(min(values) < value < max(values) for value in said)


def _is_known(time: int, times: frozenset[int], numbers: frozenset[str]) -> bool:
    bare = {str(time // 60), str(time // 60 % 12 or 12)} if time % 60 == 0 else set()
    return time in times or (time + HALF_DAY) % DAY_MINUTES in times or not numbers.isdisjoint(bare)


def _follows(time: int, known: list[Figures]) -> bool:
    """Whether a time lies a known number of minutes before or after a known time or full hour."""
    numbers = [value for each in known for value, _ in values_of(each.units_of())]
    bases = {time for each in known for time in each.times} | {value * 60 for value in numbers if value <= 24}
    steps = [value for value in numbers if LEAST_STEP <= value <= MOST_STEP]
    return any(
        (base + sign * step) % HALF_DAY == time % HALF_DAY
        for base in bases
        for step in steps
        for sign in (1, -1)
    )
