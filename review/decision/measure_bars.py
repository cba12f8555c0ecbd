"""The one or two measures that decided, as plain bars with a threshold and a sentence each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from review.decision.margins import Margin
from review.languages import gettext as _
from review.languages import mark
from review.languages.numbers import localized
from worker.snapshot import SnapshotAssessment

SUPPORT: Final = frozenset({"support", "confidence"})
"""Measures of how far the passages support a draft, as ``review.decision.margins`` names them."""
RELEVANCE: Final = frozenset({"relevance"})
MOST: Final = 2
SENTENCES: Final = {
    ("support", True): mark("The passages support the draft: %(score)s, at least %(threshold)s is needed."),
    ("support", False): mark("The passages do not support enough of it: %(score)s, %(threshold)s is needed."),
    ("relevance", True): mark("It answers the question: %(score)s, at least %(threshold)s is needed."),
    ("relevance", False): mark("It may not answer the question: %(score)s, %(threshold)s is needed."),
    ("other", True): mark("Reached: %(score)s, at least %(threshold)s is needed."),
    ("other", False): mark("Not reached: %(score)s, %(threshold)s is needed."),
    ("category", True): mark("From the threshold on a text is blocked: %(score)s of %(threshold)s."),
    ("category", False): mark("Below the threshold: %(score)s of %(threshold)s."),
}
TITLES: Final = {"support": mark("Support"), "relevance": mark("Relevance")}


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureBar:
    """One bar.

    Attributes:
        title: a marked text, or a category of moderation.
        good: the side of the threshold on which a text is sent.
    """

    title: str
    is_category: bool
    score: float
    threshold: float | None
    sentence: str
    good: bool


def measure_bars(
    assessment: SnapshotAssessment | None, confidence: Iterable[Margin], moderation: Iterable[Margin]
) -> tuple[MeasureBar, ...]:
    """Support and relevance of a draft; without one the categories that moderation flagged."""
    found = tuple(_of_draft(assessment, tuple(confidence))) if assessment else ()
    return found or tuple(_bar("category", each) for each in moderation if each.reached)[:MOST]


def _of_draft(assessment: SnapshotAssessment, margins: tuple[Margin, ...]) -> Iterator[MeasureBar]:
    deciding = [each for each in margins if each.sends]
    halves = (("support", SUPPORT, assessment.support), ("relevance", RELEVANCE, assessment.relevance))
    known = False
    for name, measures, score in halves:
        margin = next((each for each in deciding if each.measure in measures), None)
        if margin is not None:
            yield _bar(name, _decisive(margin, margins))
        elif score is not None:
            yield _without_threshold(name, score)
        known = known or margin is not None or score is not None
    if not known:
        yield from (_bar("other", each) for each in deciding[:MOST])


def _decisive(margin: Margin, margins: Iterable[Margin]) -> Margin:
    """The lowest threshold of the same measure that was missed, as the page's sentence names it."""
    missed = [each for each in margins if each.measure == margin.measure and not each.reached]
    return min(missed, key=lambda each: each.threshold or 0.0, default=margin)


def _bar(kind: str, margin: Margin) -> MeasureBar:
    score, threshold = margin.rounded()
    values = {"score": score, "threshold": threshold}
    return MeasureBar(
        title=TITLES.get(kind, margin.measure),
        score=margin.score,
        threshold=margin.threshold,
        sentence=_(SENTENCES[kind, margin.reached]) % values,
        is_category=margin.is_category,
        good=margin.reached is (kind != "category"),
    )


def _without_threshold(kind: str, score: float) -> MeasureBar:
    return MeasureBar(
        title=TITLES[kind],
        score=score,
        threshold=None,
        sentence=_("%(score)s. Its threshold is not stored any more.") % {"score": localized(f"{score:.2f}")},
        is_category=False,
        good=True,
    )
