"""Lexical signals: named numbers computed from a question, its evidence and a draft."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

from worker.assessment.signals.grounds import Grounds, bearing_units, name_pairs
from worker.assessment.signals.sentences import (
    SentenceCover,
    claims,
    covers,
    missing_weight,
    unseen_pairs,
    weakest_sentences,
)
from worker.assessment.text.quantities import spelled_numbers, stated_numbers, times_of_day
from worker.assessment.text.wordlists import folded_text, list_pattern
from worker.assessment.text.words import content_units, normalised_text, split_sentences


def lexical_signals(grounds: Grounds, draft: str, language: str = "en") -> Mapping[str, float]:
    """The signals that the coefficients weigh; each grows with the risk that the draft is not grounded."""
    text = normalised_text(draft)
    parts = [(part, content_units(part)) for part in split_sentences(text, language)]
    found = [unit for _, said in parts for unit in said]
    sentence_covers = covers(grounds, parts)
    return {
        **_novelty(grounds, found, [cover for cover in sentence_covers if cover.facts]),
        **_unseen_pairs(grounds, found),
        **weakest_sentences(grounds, parts, sentence_covers),
        **_unsupported_figures(grounds, text, frozenset(found)),
        "unsupported_names": math.log1p(len(name_pairs(text) - grounds.names)),
        **_record_conflicts(grounds, parts),
        "hedges": math.log1p(len(list_pattern("hedges").findall(folded_text(text)))),
        "evidence_size": math.log1p(grounds.size),
        "condensation": max(0.0, math.log1p(grounds.size) - math.log1p(len(found))),
    }


def has_bare_fact(signals: Mapping[str, float]) -> bool:
    """Whether a number, a time of day, a name, or every fact of some sentence is missing from the evidence.

    Such a draft is never sent without a judge. Of 306 short counterfactual answers (RGB), 97 errors would be
    sent without this rule and 18 with it. Of RAGTruth's answers to questions that would be sent, it stops one
    in nine.
    """
    bare = ("unsupported_numbers", "unsupported_times", "unsupported_names", "bare_sentences")
    return any(signals[name] > 0.0 for name in bare)


def _novelty(
    grounds: Grounds, found: Sequence[str], sentence_covers: Sequence[SentenceCover]
) -> dict[str, float]:
    claimed = claims(grounds, found)
    missing = [u for u in claimed if u not in grounds.units]
    worst = sorted((cover.novelty for cover in sentence_covers), reverse=True)[:2]
    return {
        "missing_words": math.log1p(sum(missing_weight(grounds, u) for u in set(missing))),
        "missing_share": sum(missing_weight(grounds, u) for u in missing) / (len(claimed) + 5),
        "bare_sentences": math.log1p(sum(cover.missing >= cover.facts for cover in sentence_covers)),
        "worst_sentence": worst[0] if worst else 0.0,
        "two_worst_sentences": sum(worst) / 2,
        "last_sentence": sentence_covers[-1].novelty if sentence_covers else 0.0,
        "mean_sentence": sum(c.novelty for c in sentence_covers) / max(1, len(sentence_covers)),
    }


def _unseen_pairs(grounds: Grounds, found: Sequence[str]) -> dict[str, float]:
    pairs = set(pairwise(bearing_units(found)))
    unseen = len(unseen_pairs(pairs, grounds.together))
    return {"unseen_pairs": math.log1p(unseen), "unseen_pair_share": unseen / (len(pairs) + 3)}


def _unsupported_figures(grounds: Grounds, text: str, found: frozenset[str]) -> dict[str, float]:
    stated = stated_numbers(text) | (
        spelled_numbers(found) - {"1"}
    )  # "one" is as often a pronoun as a number
    return {
        "unsupported_numbers": math.log1p(len(stated - grounds.figures)),
        "unsupported_times": math.log1p(len(times_of_day(text) - grounds.times)),
    }


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
