"""How far the evidence covers each sentence of a draft: by words, and by words beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import pairwise

from worker.assessment.signals.grounds import PREFIX, Grounds, bearing_units
from worker.assessment.text.words import DISCOURSE, content_units, fact_units, unaccented_unit

Pair = tuple[str, str]
"""Two neighbouring units."""

_PREFIX_WEIGHT = 0.35
"""Weight of a new word that shares its first five letters with a word of the evidence (medical, medicine)."""

_PAIR_WEIGHT = 0.3
"""Weight of a sentence's unseen pairs beside its new words; from 0.3 to 1.0 AUROC moves by under 0.002."""


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
    parts = [(sentence, content_units(sentence)) for sentence in reply_sentences]
    return tuple(cover for cover in covers(grounds, parts) if cover.facts)


def covers(grounds: Grounds, parts: Sequence[tuple[str, list[str]]]) -> tuple[SentenceCover, ...]:
    """How far each sentence, given with its units, is covered; one without a fact has 0 facts."""
    found = []
    for sentence, said in parts:
        claimed = claims(grounds, said)
        missing = sum(missing_weight(grounds, u) for u in claimed if u not in grounds.units)
        found.append(SentenceCover(text=sentence, facts=len(claimed), missing=missing))
    return tuple(found)


def weakest_sentences(
    grounds: Grounds, parts: Sequence[tuple[str, list[str]]], sentence_covers: Sequence[SentenceCover]
) -> dict[str, float]:
    """The weakness of the weakest sentence, and the mean of the two weakest.

    The weakness of a sentence is its novelty and a part of the share of its neighbouring words that are never
    near each other in the evidence or the question: a sentence of known words may relate them in a new way.
    """
    weakness = [
        cover.novelty + _PAIR_WEIGHT * _unseen_share(grounds, said)
        for (_, said), cover in zip(parts, sentence_covers, strict=True)
    ]
    weakest = sorted(weakness, reverse=True)[:2]
    return {"weakest_sentence": weakest[0] if weakest else 0.0, "two_weakest_sentences": sum(weakest) / 2}


def _unseen_share(grounds: Grounds, said: Sequence[str]) -> float:
    """0..1, unseen pairs of a sentence per pair plus 4; those of the question count as seen."""
    pairs = set(pairwise(bearing_units(said)))
    unseen = unseen_pairs(unseen_pairs(pairs, grounds.together), grounds.asked_together)
    return len(unseen) / (len(pairs) + 4)


def unseen_pairs(pairs: AbstractSet[Pair], seen: AbstractSet[Pair]) -> set[Pair]:
    """The pairs that are not among ``seen`` in either order."""
    return {(a, b) for a, b in pairs - seen if (b, a) not in seen}


def claims(grounds: Grounds, found: Sequence[str]) -> list[str]:
    """Fact units that neither repeat the question nor only structure the text."""
    return [u for u in fact_units(found) if u not in DISCOURSE and not _asked(grounds, u)]


def _asked(grounds: Grounds, unit: str) -> bool:
    return unit in grounds.asked or (not unit.isascii() and unaccented_unit(unit) in grounds.asked_plain)


def missing_weight(grounds: Grounds, unit: str) -> float:
    """How much a new unit counts: less when the evidence has a related word."""
    return _PREFIX_WEIGHT if len(unit) >= PREFIX and unit[:PREFIX] in grounds.prefixes else 1.0
