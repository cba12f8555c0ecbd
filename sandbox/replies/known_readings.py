"""Readings of a judge that knows the case of a question, and is wrong in a chosen share of the drafts."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sandbox.cases import Case, CaseFile, DraftKind, folded
from sandbox.replies.extractive import NumberedPassage, content_words
from sandbox.replies.known_drafts import passage_with
from sandbox.replies.reading import (
    RELEVANCE_ASPECT,
    JudgePrompt,
    SandboxReading,
    SentenceVerdict,
    passage_sentences,
    reading_by_words,
)

SURE, UNSURE = 0.97, 0.02
NOISY_SURE, NOISY_UNSURE = (0.75, 0.99), (0.02, 0.30)
"""Ranges of a noisy judge's probabilities, so that thresholds can be studied."""
SUPPORT_ASPECTS = frozenset({"grounding", "quotation", "sentence"})
COURTESY = re.compile(
    r"(?:(?:i am|i'm|i’m|we are|we're|we’re) )?(?:(?:really|so|very|truly) )?(?:sorry|afraid)\b"
    r"|(?:thanks|thank you|welcome|happy|congratulations|that is annoying|oh no)\b"
    r"|(?:i|we)(?: completely| fully)? understand\b|das tut mir|lo siento|je suis désolée?|sinto muito",
    re.IGNORECASE,
)
MOST_COURTESY_WORDS = 10
NUMBER = re.compile(
    r"\d+(?:[.,:]\d+)*|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b", re.IGNORECASE
)
"""A number in digits, or up to twelve in an English word."""
MOST_QUOTES = 4


class JudgeKind:
    """Names of judges; ``noisy:0.1`` is wrong in one draft of ten."""

    PERFECT = "perfect"
    NOISY = "noisy"
    OFF = "off"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownJudge:
    """A judge that knows the truth.

    Attributes:
        off: it answers with an error.
        wrong_share: 0..1, share of the drafts about which it says the opposite; None for a perfect judge.
    """

    off: bool = False
    wrong_share: float | None = None

    @property
    def name(self) -> str:
        """The judge as it is written in an option."""
        if self.off:
            return JudgeKind.OFF
        return JudgeKind.PERFECT if self.wrong_share is None else f"{JudgeKind.NOISY}:{self.wrong_share:g}"


PERFECT = KnownJudge()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draft:
    """A draft with its case and what it is."""

    case: Case
    kind: DraftKind
    request: JudgePrompt

    def draw(self, purpose: str) -> float:
        """0..1, always the same for this draft and purpose."""
        name = f"{purpose}/{self.case.case_id}/{self.kind}"
        return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest()) / 2**64


def parse_judge(name: str) -> KnownJudge:
    """The judge of a name: ``perfect``, ``noisy:SHARE`` or ``off``; ValueError for any other."""
    kind, _, share = name.partition(":")
    if name == JudgeKind.PERFECT:
        return KnownJudge()
    if name == JudgeKind.OFF:
        return KnownJudge(off=True)
    try:
        wrong_share = float(share)
    except ValueError:
        wrong_share = -1.0
    if kind != JudgeKind.NOISY or not 0 <= wrong_share <= 1:
        raise ValueError(
            f"judge: expected perfect, noisy:SHARE with a share from 0 to 1, or off, got {name!r}"
        )
    return KnownJudge(wrong_share=wrong_share)


def known_reading(cases: CaseFile, judge: KnownJudge, request: JudgePrompt) -> SandboxReading:
    """The judge's reading of a draft; by shared words when the question or the draft is not of a case."""
    case = cases.find(request.question, request.conversation)
    kind = case.kind_of([text for _, text in request.sentences]) if case else DraftKind.OTHER
    if case is None or kind is DraftKind.OTHER:
        return reading_by_words(request)
    draft = _Draft(case=case, kind=kind, request=request)
    if judge.wrong_share is None:
        return _reading(draft, _true_verdicts(draft), relevant=kind is not DraftKind.WRONG)
    inverted = draft.draw("inverted") < judge.wrong_share
    if not inverted:
        found = _reading(draft, _true_verdicts(draft), relevant=kind is not DraftKind.WRONG)
    elif kind is DraftKind.RIGHT:
        found = _refusal(draft)
    else:
        found = _reading(draft, _false_approvals(draft), relevant=True)
    return _with_noise(found, draft)


def _reading(draft: _Draft, verdicts: Sequence[SentenceVerdict], *, relevant: bool) -> SandboxReading:
    supported = all(each.verdict in ("supported", "no_claim") for each in verdicts)
    relevance = SURE if relevant else UNSURE
    scores = {}
    for name in draft.request.aspects:
        good = supported if name in SUPPORT_ASPECTS else supported and relevant
        scores[name] = relevance if name == RELEVANCE_ASPECT else SURE if good else UNSURE
    return SandboxReading(
        sentences=tuple(verdicts),
        relevance=relevance,
        left_out="" if relevant else "what was asked: the reply answers another question",
        scores=scores,
    )


def _true_verdicts(draft: _Draft) -> tuple[SentenceVerdict, ...]:
    case, passages = draft.case, draft.request.passages
    right, wrong = folded(case.answer), folded(case.wrong_answer or "")
    main = _main_sentence(draft.request.sentences, case.probe)
    found = []
    for number, text in draft.request.sentences:
        part = folded(text)
        if _is_courtesy(text):
            found.append(SentenceVerdict(number=number, verdict="no_claim"))
        elif draft.kind is not DraftKind.WRONG and case.doc and part in right:
            found.append(_supported(number, text, case.probe, passages, whole=number == main))
        elif draft.kind is DraftKind.WRONG and part in wrong:
            found.append(_supported(number, text, case.wrong_probe, passages, whole=False))
        else:
            verdict = "contradicted" if draft.kind is DraftKind.INVENTED and case.doc else "not_mentioned"
            found.append(SentenceVerdict(number=number, verdict=verdict, probability=UNSURE))
    return tuple(found)


def _supported(
    number: int, text: str, probe: str | None, passages: Sequence[NumberedPassage], *, whole: bool
) -> SentenceVerdict:
    """Supported by the probe or by sentences of its passage; ``whole`` demands the probe."""
    passage = passage_with(probe, passages)
    if passage is None or probe is None:
        return SentenceVerdict(number=number, verdict="not_mentioned", probability=UNSURE)
    near = [part for _, part in passage_sentences([passage]) if folded(part) not in folded(probe)]
    best = max((probe, *near), key=lambda part: _shared(text, part))  # the first of equals: the probe
    quotes = [probe] if whole else [best]
    pool = (best, probe, *near, *(part for _, part in passage_sentences(passages)))
    for value in NUMBER.findall(text):
        if not any(value in NUMBER.findall(quote) for quote in quotes):
            quotes += [part for part in pool if value in NUMBER.findall(part)][:1] or [probe]
    return SentenceVerdict(
        number=number,
        verdict="supported",
        quotes=tuple(dict.fromkeys(quotes))[:MOST_QUOTES],
        probability=SURE,
    )


def _false_approvals(draft: _Draft) -> tuple[SentenceVerdict, ...]:
    """Every sentence supported by a quote that stands in the passages and fits, but proves nothing."""
    passages, case = draft.request.passages, draft.case
    probe = case.wrong_probe if draft.kind is DraftKind.WRONG else case.probe
    first = next((part for _, part in passage_sentences(passages)), "")
    quote = probe if probe and passage_with(probe, passages) else first
    return tuple(
        SentenceVerdict(number=number, verdict="supported", quotes=(quote,), probability=SURE)
        for number, _ in draft.request.sentences
    )


def _refusal(draft: _Draft) -> SandboxReading:
    """A right draft refused: in half of the cases as not supported, else as not relevant."""
    verdicts = _true_verdicts(draft)
    if draft.draw("refusal") < 0.5:
        return _reading(draft, verdicts, relevant=False)
    refused = [
        SentenceVerdict(number=each.number, verdict="not_mentioned", probability=UNSURE) for each in verdicts
    ]
    return _reading(draft, refused, relevant=True)


def _with_noise(found: SandboxReading, draft: _Draft) -> SandboxReading:
    """The same reading with probabilities that vary from draft to draft."""

    def varied(value: float, purpose: str) -> float:
        low, high = NOISY_SURE if value >= 0.5 else NOISY_UNSURE
        return low + (high - low) * draft.draw(purpose)

    return SandboxReading(
        sentences=tuple(
            replace(each, probability=varied(each.probability, f"sentence {each.number}"))
            for each in found.sentences
        ),
        relevance=varied(found.relevance, "relevance"),
        left_out=found.left_out,
        scores={name: varied(value, name) for name, value in found.scores.items()},
    )


def _main_sentence(sentences: Sequence[tuple[int, str]], probe: str | None) -> int:
    """The number of the sentence that shares most with the probe: the first claim on a tie."""
    claims = [(number, text) for number, text in sentences if not _is_courtesy(text)]
    return max(claims, key=lambda each: _shared(each[1], probe or ""), default=(0, ""))[0]


def _shared(text: str, part: str) -> int:
    """How many content words two texts share; a number counts twice."""
    numbers = set(NUMBER.findall(text)) & set(NUMBER.findall(part))
    return len(content_words(text) & content_words(part)) + len(numbers)


def _is_courtesy(text: str) -> bool:
    """Whether a sentence is a polite formula that states nothing."""
    polite = COURTESY.match(text.strip()) and len(text.split()) <= MOST_COURTESY_WORDS
    return bool(polite and "," not in text and not NUMBER.search(text))
