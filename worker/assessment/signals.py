"""Cheap lexical signals: pure functions of a question, its evidence and a draft, each a named number."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from worker.assessment.figures import numbers, spelled_numbers, times_of_day
from worker.assessment.records import Attribute, doubtful_attributes, flattened, pairs_of
from worker.assessment.wordlists import folded, pattern_of
from worker.assessment.words import (
    DISCOURSE,
    STOP,
    facts,
    is_unspaced,
    normalised,
    sentences,
    unaccented,
    unit_of,
    units,
)

_PREFIX = 5
_PREFIX_WEIGHT = 0.35
"""What a new word counts that shares five first letters with a word of the evidence (medical, medicine)."""

_NAME = re.compile(r"\b([A-Z][A-Za-z]+)(?=[^\w.!?\n]{1,3}([A-Z][A-Za-z]+)\b)")

_WINDOW = 4
"""Two neighbouring words of a reply are seen together when the evidence holds them within four words."""


class EvidenceKind(StrEnum):
    """The shape of what a draft rests on; each has its own coefficients."""

    QUESTION = "question"
    SUMMARY = "summary"
    RECORDS = "records"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounds:
    """Everything the signals need to know of the evidence and the question, computed once.

    Attributes:
        units: every comparable unit of the evidence.
        prefixes: first five letters of its longer words.
        together: pairs of fact units within four words of each other, in the order they stand.
        asked: units of the question; a reply may repeat them without evidence.
        asked_plain: the same without accents, since people type questions without them.
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
    attributes: tuple[Attribute, ...]
    size: int
    kind: EvidenceKind


def grounds_of(query: str, context: str) -> Grounds:
    """What ``context`` and ``query`` let a reply say."""
    records = pairs_of(flattened(context))
    text = normalised("\n".join(f"{key}: {value}" for key, value in records) if records else context)
    asked_text = normalised(query)
    found = units(text)
    bearing = [u for u in found if u not in STOP and u not in DISCOURSE]
    asked = frozenset(units(asked_text))
    seen = frozenset(found)
    return Grounds(
        units=seen,
        prefixes=frozenset(u[:_PREFIX] for u in seen if len(u) >= _PREFIX and not is_unspaced(u)),
        together=_pairs_within(bearing),
        asked=asked,
        asked_plain=frozenset(unaccented(u) for u in asked),
        figures=numbers(text) | spelled_numbers(seen) | numbers(asked_text),
        times=times_of_day(text),
        names=names_in(text) | names_in(asked_text),
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
    """How far one sentence of a draft is carried by the evidence.

    Attributes:
        facts: how many units could carry a fact.
        missing: how many of them the evidence lacks; a near relative counts 0.35.
    """

    text: str
    facts: int
    missing: float

    @property
    def novelty(self) -> float:
        """0..1, share of missing facts, damped by four: one new word in a short sentence is not all of it."""
        return self.missing / (self.facts + 4)


def covers(grounds: Grounds, reply_sentences: Sequence[str]) -> tuple[SentenceCover, ...]:
    """How far each sentence is carried, in order; sentences that state nothing new are left out."""
    return _covers(grounds, [(sentence, units(sentence)) for sentence in reply_sentences])


def _covers(grounds: Grounds, parts: Sequence[tuple[str, list[str]]]) -> tuple[SentenceCover, ...]:
    found = []
    for sentence, said in parts:
        claimed = _claims(grounds, said)
        if claimed:
            missing = sum(_weight(grounds, u) for u in claimed if u not in grounds.units)
            found.append(SentenceCover(text=sentence, facts=len(claimed), missing=missing))
    return tuple(found)


def _claims(grounds: Grounds, found: Sequence[str]) -> list[str]:
    """Fact units that neither repeat the question nor merely lead through the text."""
    return [u for u in facts(found) if u not in DISCOURSE and not _asked(grounds, u)]


def _asked(grounds: Grounds, unit: str) -> bool:
    return unit in grounds.asked or (not unit.isascii() and unaccented(unit) in grounds.asked_plain)


def _weight(grounds: Grounds, unit: str) -> float:
    return _PREFIX_WEIGHT if len(unit) >= _PREFIX and unit[:_PREFIX] in grounds.prefixes else 1.0


def lexical_signals(grounds: Grounds, draft: str, language: str = "en") -> Mapping[str, float]:
    """The signals the coefficients weigh; every one grows with the risk that the draft is not grounded."""
    text = normalised(draft)
    parts = [(part, units(part)) for part in sentences(text, language)]
    found = [unit for _, said in parts for unit in said]
    return {
        **_novelty(grounds, found, _covers(grounds, parts)),
        **_unseen_pairs(grounds, found),
        **_unsupported_figures(grounds, text, frozenset(found)),
        "unsupported_names": math.log1p(len(names_in(text) - grounds.names)),
        **_record_conflicts(grounds, parts),
        "hedges": math.log1p(len(pattern_of("hedges").findall(folded(text)))),
        "evidence_size": math.log1p(grounds.size),
    }


def has_bare_fact(signals: Mapping[str, float]) -> bool:
    """Whether a number, a name, or every fact of some sentence is missing from the evidence.

    However well the rest of a draft is covered, such a one is never sent unread. Of 306 short counterfactual
    answers (RGB) 97 errors would be sent without this rule and 18 with it; of RAGTruth's questions it holds
    back one in nine of those that would be sent.
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
    stated = numbers(text) | (spelled_numbers(found) - {"1"})  # "one" is as often a pronoun as a number
    return {
        "unsupported_numbers": math.log1p(len(stated - grounds.figures)),
        "unsupported_times": math.log1p(len(times_of_day(text) - grounds.times)),
    }


def names_in(text: str) -> frozenset[tuple[str, str]]:
    """Names of two or more capitalised words, as pairs of neighbouring units.

    Only words in plain letters: a script that writes a name in syllables is compared by its unseen pairs.
    """
    pairs = ((unit_of(a.casefold()), unit_of(b.casefold())) for a, b in _NAME.findall(text))
    return frozenset(pair for pair in pairs if STOP.isdisjoint(pair) and DISCOURSE.isdisjoint(pair))


def _record_conflicts(grounds: Grounds, parts: Sequence[tuple[str, list[str]]]) -> dict[str, float]:
    """How often the draft affirms an attribute that is off or blank, and speaks of a blank one at all."""
    affirmed = blank = 0
    if grounds.attributes:
        for part, said in parts:
            named = [a for a in grounds.attributes if a.words.issubset(said)]
            if named:
                blank += sum(a.blank for a in named)
                affirmed += 0 if pattern_of("negations").search(folded(part)) else len(named)
    return {"affirmed_off": math.log1p(affirmed), "stated_blank": math.log1p(blank)}
