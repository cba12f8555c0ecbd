"""What a judge read in a draft: its sentences with verdicts and quotes, as a decision's page shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from review.decision.grounds import Ground, ReplyGrounds, ShownPassage
from review.decision.highlights import quoted_html
from review.languages import gettext as _
from review.languages import mark, ngettext
from review.marked_text import TextRange
from worker.assessment.reading.facts import Fact
from worker.assessment.text.citations import cited_numbers
from worker.model import Quote, Verdict
from worker.snapshot import SnapshotAssessment, SnapshotSentence

VERDICTS: Final[Mapping[str, str]] = {
    Verdict.SUPPORTED: mark("the passages say it"),
    Verdict.CONTRADICTED: mark("the passages say otherwise"),
    Verdict.NOT_MENTIONED: mark("the passages do not say it"),
    Verdict.NO_CLAIM: mark("it states nothing that could be wrong"),
    Verdict.PROMISE: mark("it promises an action that is not performed"),
    Verdict.OFF_TOPIC: mark("it declines what the account does not deal with"),
}
FACTS: Final[Mapping[str, str]] = {
    Fact.NUMBER: mark("number or time"),
    Fact.DATE: mark("date or day"),
    Fact.NAME: mark("name"),
    Fact.NEGATION: mark("yes or no"),
    Fact.CONDITION: mark("condition"),
    Fact.ADDRESS: mark("address of mail or web"),
}
"""Kinds of facts that code compares."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownQuote:
    """One quote of a sentence; ``anchor`` is the id of its mark, empty where the page does not show it."""

    passage: int
    anchor: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownSentence:
    """One sentence of a draft.

    Attributes:
        text: empty where the draft is not shown.
        left_out: the reply has the draft's other sentences only.
        verdict: in words.
        trusted: None for a sentence that states nothing.
        remarks: what code found that the judge did not say.
        facts: kind in words and detail of each fact that the quotes do not bear out.
    """

    number: int
    text: str
    left_out: bool
    verdict: str
    trusted: bool | None
    support: float | None
    remarks: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]
    quotes: tuple[ShownQuote, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownReading:
    """What a judge read.

    Attributes:
        left_out: what the judge misses in the draft; empty where texts are not shown.
        with_texts: the draft is shown.
    """

    sentences: tuple[ShownSentence, ...]
    left_out: str
    with_texts: bool


def shown_reading(
    assessment: SnapshotAssessment | None, *, draft: str | None, passages: Sequence[ShownPassage] = ()
) -> ShownReading | None:
    """The reading of a draft; without the draft its verdicts alone. None where no judge read it.

    ``passages`` are those that the page shows; their quotes get links.
    """
    if assessment is None or not assessment.sentences:
        return None
    known = {each.number: each for each in passages}
    return ShownReading(
        sentences=tuple(_sentence(n, each, draft, known) for n, each in enumerate(assessment.sentences, 1)),
        left_out=assessment.left_out if draft is not None else "",
        with_texts=draft is not None,
    )


def _sentence(
    number: int, each: SnapshotSentence, draft: str | None, known: Mapping[int, ShownPassage]
) -> ShownSentence:
    shown = draft is not None
    trusted = None if each.support is None else each.support > 0 and each.verdict == Verdict.SUPPORTED
    return ShownSentence(
        number=number,
        text=draft[each.start : each.end].strip() if draft is not None else "",
        left_out=each.start == each.end,
        verdict=_verdict(each.verdict, trusted=trusted),
        trusted=trusted,
        support=each.support,
        remarks=tuple(_remarks(each)),
        facts=tuple(_fact(stored) for stored in each.disagreements) if shown else (),
        quotes=tuple(
            ShownQuote(passage=quote.passage, anchor=_anchor(number, place, quote, known))
            for place, quote in enumerate(each.quotes, 1)
        ),
    )


def _verdict(stored: str, *, trusted: bool | None) -> str:
    if stored == Verdict.SUPPORTED and not trusted:
        return _("the judge finds it in the passages, the check does not")
    return _(VERDICTS[stored]) if stored in VERDICTS else stored


def _remarks(each: SnapshotSentence) -> list[str]:
    found = []
    if each.disagreements:
        found.append(_("Its facts differ from its quotes, so it counts as not supported."))
    elif each.verdict == Verdict.SUPPORTED and not each.quotes:
        found.append(_("No quote of the judge stands in the passages, so it counts as not supported."))
    if each.verdict == Verdict.NO_CLAIM and each.support is not None:
        found.append(_("It does state something, so it counts as not supported."))
    if each.unknown_quotes:
        text = ngettext(
            "%(num)s quote of the judge stands in no passage.",
            "%(num)s quotes of the judge stand in no passage.",
            each.unknown_quotes,
        )
        found.append(text % {"num": each.unknown_quotes})
    return found


def _fact(stored: str) -> tuple[str, str]:
    """Kind in words and detail of a stored ``kind: detail``."""
    kind, _colon, detail = stored.partition(": ")
    return (_(FACTS[kind]) if kind in FACTS else kind), detail


def _anchor(number: int, place: int, quote: Quote, known: Mapping[int, ShownPassage]) -> str:
    passage = known.get(quote.passage)
    if passage is None or (passage.text is None and quote.start is not None):
        return ""
    return f"quote-{number}-{place}"


def quoted_grounds(
    assessment: SnapshotAssessment, passages: Sequence[ShownPassage], *, draft: str, verbatim: bool
) -> ReplyGrounds:
    """The passages with the judge's quotes marked; passages that are quoted or cited come first."""
    named = cited_numbers(draft)
    found = [_ground(assessment, passage, cited=passage.number in named) for passage in passages]
    return ReplyGrounds(
        cited=tuple(each for each in found if each.cited),
        others=tuple(each for each in found if not each.cited),
        verbatim=verbatim,
        numbered=bool(named),
        read=True,
    )


def _ground(assessment: SnapshotAssessment, passage: ShownPassage, *, cited: bool) -> Ground:
    title: dict[str, TextRange] = {}
    text: dict[str, TextRange] = {}
    for number, sentence in enumerate(assessment.sentences, 1):
        for place, quote in enumerate(sentence.quotes, 1):
            if quote.passage != passage.number:
                continue
            name = f"quote-{number}-{place}"
            if quote.start is None or quote.end is None:
                title[name] = (0, len(passage.title))
            else:
                text[name] = (quote.start, quote.end)
    return Ground(
        passage=passage,
        html=None if passage.text is None else quoted_html(passage.text, text),
        cited=cited or bool(title or text),
        matched=bool(title or text),
        title=quoted_html(passage.title, title) if title else None,
    )
