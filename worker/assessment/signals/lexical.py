"""Lexical signals: named numbers computed from a question, its evidence and a draft."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from worker.assessment.signals.records import RecordAttribute, doubtful_attributes, record_pairs, record_text
from worker.assessment.text.quantities import spelled_numbers, stated_numbers, times_of_day
from worker.assessment.text.wordlists import folded_text, list_pattern
from worker.assessment.text.words import (
    DISCOURSE,
    STOP,
    comparable_unit,
    fact_units,
    is_unspaced,
    normalised_text,
    split_sentences,
    text_units,
    unaccented_unit,
)

_PREFIX = 5
_PREFIX_WEIGHT = 0.35
"""Weight of a new word that shares its first five letters with a word of the evidence (medical, medicine)."""

_NAME = re.compile(r"\b([A-Z][A-Za-z]+)(?=[^\w.!?\n]{1,3}([A-Z][A-Za-z]+)\b)")

_WINDOW = 4
"""Distance in words within which the evidence must contain two neighbouring words of a reply."""


class EvidenceKind(StrEnum):
    """The shape of the evidence; each kind has its own coefficients."""

    QUESTION = "question"
    SUMMARY = "summary"
    RECORDS = "records"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounds:
    """The evidence and the question as the signals compare them, computed once.

    Attributes:
        units: every comparable unit of the evidence.
        prefixes: first five letters of the longer words.
        together: pairs of fact units within four words of each other, in their order.
        asked: units of the question; a reply may repeat them without evidence.
        asked_plain: the same without accents, because people type questions without them.
        figures: numbers of evidence and question.
        times: times of day in the evidence.
        names: names of evidence and question.
        attributes: attributes of a record that are off or blank.
        size: number of units in the evidence.
        kind: shape of the evidence.
    """

    units: frozenset[str]
    prefixes: frozenset[str]
    together: frozenset[tuple[str, str]]
    asked: frozenset[str]
    asked_plain: frozenset[str]
    figures: frozenset[str]
    times: frozenset[tuple[int, int]]
    names: frozenset[tuple[str, str]]
    attributes: tuple[RecordAttribute, ...]
    size: int
    kind: EvidenceKind


def evidence_grounds(query: str, context: str) -> Grounds:
    """The grounds that ``context`` and ``query`` give a reply."""
    records = record_pairs(record_text(context))
    text = normalised_text("\n".join(f"{key}: {value}" for key, value in records) if records else context)
    asked_text = normalised_text(query)
    found = text_units(text)
    bearing = [u for u in found if u not in STOP and u not in DISCOURSE]
    asked = frozenset(text_units(asked_text))
    seen = frozenset(found)
    return Grounds(
        units=seen,
        prefixes=frozenset(u[:_PREFIX] for u in seen if len(u) >= _PREFIX and not is_unspaced(u)),
        together=_pairs_within(bearing),
        asked=asked,
        asked_plain=frozenset(unaccented_unit(u) for u in asked),
        figures=stated_numbers(text) | spelled_numbers(seen) | stated_numbers(asked_text),
        times=times_of_day(text),
        names=name_pairs(text) | name_pairs(asked_text),
        attributes=doubtful_attributes(records),
        size=len(found),
        kind=_kind(records=bool(records), asked=bool(asked)),
    )


def _kind(*, records: bool, asked: bool) -> EvidenceKind:
    if records:
        return EvidenceKind.RECORDS
    return EvidenceKind.QUESTION if asked else EvidenceKind.SUMMARY


def _pairs_within(bearing: Sequence[str]) -> frozenset[tuple[str, str]]:
    pairs: set[tuple[str, str]] = set()
    for step in range(1, _WINDOW + 1):
        pairs.update(zip(bearing, bearing[step:], strict=False))
    return frozenset(pairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceCover:
    """How far the evidence covers one sentence of a draft.

    Attributes:
        facts: number of units that can state a fact.
        missing: how many of them the evidence does not contain; a word with a known prefix counts 0.35.
    """

    text: str
    facts: int
    missing: float

    @property
    def novelty(self) -> float:
        """0..1, missing facts per fact plus 4, so that one new word in a short sentence weighs less."""
        return self.missing / (self.facts + 4)


def sentence_coverage(grounds: Grounds, reply_sentences: Sequence[str]) -> tuple[SentenceCover, ...]:
    """How far each sentence is covered, in order; sentences without a fact of their own are left out."""
    return _covers(grounds, [(sentence, text_units(sentence)) for sentence in reply_sentences])


def _covers(grounds: Grounds, parts: Sequence[tuple[str, list[str]]]) -> tuple[SentenceCover, ...]:
    found = []
    for sentence, said in parts:
        claimed = _claims(grounds, said)
        if claimed:
            missing = sum(_weight(grounds, u) for u in claimed if u not in grounds.units)
            found.append(SentenceCover(text=sentence, facts=len(claimed), missing=missing))
    return tuple(found)


def _claims(grounds: Grounds, found: Sequence[str]) -> list[str]:
    """Fact units that neither repeat the question nor only structure the text."""
    return [u for u in fact_units(found) if u not in DISCOURSE and not _asked(grounds, u)]


def _asked(grounds: Grounds, unit: str) -> bool:
    return unit in grounds.asked or (not unit.isascii() and unaccented_unit(unit) in grounds.asked_plain)


def _weight(grounds: Grounds, unit: str) -> float:
    return _PREFIX_WEIGHT if len(unit) >= _PREFIX and unit[:_PREFIX] in grounds.prefixes else 1.0


def lexical_signals(grounds: Grounds, draft: str, language: str = "en") -> Mapping[str, float]:
    """The signals that the coefficients weigh; each grows with the risk that the draft is not grounded."""
    text = normalised_text(draft)
    parts = [(part, text_units(part)) for part in split_sentences(text, language)]
    found = [unit for _, said in parts for unit in said]
    return {
        **_novelty(grounds, found, _covers(grounds, parts)),
        **_unseen_pairs(grounds, found),
        **_unsupported_figures(grounds, text, frozenset(found)),
        "unsupported_names": math.log1p(len(name_pairs(text) - grounds.names)),
        **_record_conflicts(grounds, parts),
        "hedges": math.log1p(len(list_pattern("hedges").findall(folded_text(text)))),
        "evidence_size": math.log1p(grounds.size),
        "condensation": max(0.0, math.log1p(grounds.size) - math.log1p(len(found))),
    }


def has_bare_fact(signals: Mapping[str, float]) -> bool:
    """Whether a number, a name, or every fact of some sentence is missing from the evidence.

    Such a draft is never sent without a judge. Of 306 short counterfactual answers (RGB), 97 errors would be
    sent without this rule and 18 with it. Of RAGTruth's answers to questions that would be sent, it stops one
    in nine.
    """
    bare = ("unsupported_numbers", "unsupported_names", "bare_sentences")
    return any(signals[name] > 0.0 for name in bare)


def _novelty(
    grounds: Grounds, found: Sequence[str], sentence_covers: Sequence[SentenceCover]
) -> dict[str, float]:
    claimed = _claims(grounds, found)
    missing = [u for u in claimed if u not in grounds.units]
    worst = sorted((cover.novelty for cover in sentence_covers), reverse=True)[:2]
    return {
        "missing_words": math.log1p(sum(_weight(grounds, u) for u in set(missing))),
        "missing_share": sum(_weight(grounds, u) for u in missing) / (len(claimed) + 5),
        "bare_sentences": math.log1p(sum(cover.missing >= cover.facts for cover in sentence_covers)),
        "worst_sentence": worst[0] if worst else 0.0,
        "two_worst_sentences": sum(worst) / 2,
        "last_sentence": sentence_covers[-1].novelty if sentence_covers else 0.0,
        "mean_sentence": sum(c.novelty for c in sentence_covers) / max(1, len(sentence_covers)),
    }


def _unseen_pairs(grounds: Grounds, found: Sequence[str]) -> dict[str, float]:
    bearing = [u for u in found if u not in STOP and u not in DISCOURSE]
    pairs = set(pairwise(bearing))
    unseen = sum((a, b) not in grounds.together and (b, a) not in grounds.together for a, b in pairs)
    return {"unseen_pairs": math.log1p(unseen), "unseen_pair_share": unseen / (len(pairs) + 3)}


def _unsupported_figures(grounds: Grounds, text: str, found: frozenset[str]) -> dict[str, float]:
    stated = stated_numbers(text) | (
        spelled_numbers(found) - {"1"}
    )  # "one" is as often a pronoun as a number
    return {
        "unsupported_numbers": math.log1p(len(stated - grounds.figures)),
        "unsupported_times": math.log1p(len(times_of_day(text) - grounds.times)),
    }


def name_pairs(text: str) -> frozenset[tuple[str, str]]:
    """Names of two or more capitalised words, as pairs of neighbouring units.

    Only words in the letters A to Z; names in other letters are compared by their unseen pairs.
    """
    pairs = ((comparable_unit(a.casefold()), comparable_unit(b.casefold())) for a, b in _NAME.findall(text))
    return frozenset(pair for pair in pairs if STOP.isdisjoint(pair) and DISCOURSE.isdisjoint(pair))


def _record_conflicts(grounds: Grounds, parts: Sequence[tuple[str, list[str]]]) -> dict[str, float]:
    """Counts of attributes the draft affirms although off or blank, and of blank ones it mentions."""
    affirmed = blank = 0
    if grounds.attributes:
        for part, said in parts:
            named = [a for a in grounds.attributes if a.words.issubset(said)]
            if named:
                blank += sum(a.blank for a in named)
                affirmed += 0 if list_pattern("negations").search(folded_text(part)) else len(named)
    return {"affirmed_off": math.log1p(affirmed), "stated_blank": math.log1p(blank)}
