"""The sentences of a sent text that a judge supported, each with its quotes, as a reply publishes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from worker.assessment import delivered_text
from worker.model import Assessment, Json, Passage, Quote, ReadSentence, Verdict


def supported_sentences(
    assessment: Assessment | None, *, draft: str | None, sent: str, passages: Sequence[Passage]
) -> list[Json] | None:
    """The supported sentences of ``draft`` that stand in ``sent``; None where no judge read the draft."""
    if assessment is None or draft is None or not assessment.sentences:
        return None
    read = (
        (delivered_sentence(draft[each.start : each.end], passages), each) for each in assessment.sentences
    )
    return [
        {
            "text": text,
            "support": each.support,
            "quotes": [_quoted(quote, passages) for quote in each.quotes if quote.passage <= len(passages)],
        }
        for text, each in read
        if text and text in sent and each.verdict is Verdict.SUPPORTED and each.support
    ]


def sentences_within(part: str, draft: str, read: Sequence[ReadSentence]) -> tuple[ReadSentence, ...]:
    """The sentences of a draft with their places in a part of it; an empty place for those left out."""
    found, at = [], 0
    for each in read:
        words = draft[each.start : each.end].strip()
        start = part.find(words, at) if words else -1
        end = start + len(words) if start >= 0 else 0
        found.append(replace(each, start=max(start, 0), end=end))
        at = max(at, end)
    return tuple(found)


def delivered_sentence(sentence: str, passages: Sequence[Passage]) -> str:
    """A sentence without citation marks."""
    return delivered_text(sentence, passages).strip()


def quote_text(quote: Quote, passage: Passage) -> str:
    """The words of a quote."""
    return passage.title if quote.start is None else passage.text[quote.start : quote.end]


def _quoted(quote: Quote, passages: Sequence[Passage]) -> Json:
    passage = passages[quote.passage - 1]
    text = quote_text(quote, passage)
    return {"passage_id": passage.passage_id, "number": quote.passage, "text": text}
