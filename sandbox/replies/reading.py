"""The judge's reading of a whole draft: the parsed prompt, and an answer by shared words: no judgement.

A prompt is a text with these lines; every line of a section is quoted with ``> ``::

    HUSHGATE-JUDGE: reading
    QUESTION:
    > When do you open?
    WRITTEN:
    > Friday, 27 November 2026
    CONVERSATION:
    > user: Hello
    PASSAGES:
    > [1] Opening hours
    > We open at nine on weekdays.
    REPLY:
    > 1. We open at nine.
    ASPECTS:
    > grounding: 0 to 1, how far the passages support the reply
    END:
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sandbox.faults import without_markers
from sandbox.replies.chat_request import JUDGE_LINE
from sandbox.replies.extractive import NumberedPassage, content_words, overlap_share
from sandbox.replies.statements import SENTENCE_END, statements

HEADING = re.compile(r"(QUESTION|WRITTEN|CONVERSATION|PASSAGES|REPLY|ASPECTS|END):\s*")
QUOTED = "> "
PASSAGE_START = re.compile(r"\[(\d{1,4})\][ \t]*(.*)")
SENTENCE_START = re.compile(r"(\d{1,4})\.[ \t]+(.*)")
REMARK = re.compile(r"(?:i|we|this|that|love|great|best|so|wow)\b", re.IGNORECASE)
ASKING = re.compile(
    r"[?？]|n['’]t\b|\b(?:what|when|where|who|why|how|which|can|could|do|does|is there|are|will|would|may"
    r"|need|want|please|help|tell|not|never|no|nobody|nothing|still|refund|money|broken|wrong|late|lost|cancel"
    r"|return|order|paid|charged|looking|like to)\b",
    re.IGNORECASE,
)
"""Words of a question, a wish or a complaint."""
RELEVANT, IRRELEVANT = 0.9, 0.1
PASS_AT = 0.5
"""Forced score from which a sentence counts as supported."""
RELEVANCE_ASPECT = "relevance"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgePrompt:
    """A judge prompt as the sandbox understands it.

    Attributes:
        question: what the author wrote.
        conversation: the earlier lines, each with its role, oldest first.
        passages: the numbered passages; ``title`` is the text of a passage's first line.
        sentences: number and text of each sentence of the draft.
        aspects: names of the scores that are asked for.
    """

    question: str = ""
    conversation: tuple[str, ...] = ()
    passages: tuple[NumberedPassage, ...] = ()
    sentences: tuple[tuple[int, str], ...] = ()
    aspects: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceVerdict:
    """What a reading says about one sentence; ``verdict`` is a word of the judge's contract."""

    number: int
    verdict: str
    quotes: tuple[str, ...] = ()
    probability: float = 0.0

    @property
    def shape(self) -> dict[str, object]:
        """The verdict as JSON."""
        return {
            "number": self.number,
            "verdict": self.verdict,
            "quotes": list(self.quotes),
            "probability": round(self.probability, 4),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxReading:
    """The answer of a judge: verdicts, relevance 0..1, what is left out, and a score per aspect."""

    sentences: tuple[SentenceVerdict, ...]
    relevance: float
    left_out: str = ""
    scores: Mapping[str, float] = field(default_factory=dict)

    @property
    def shape(self) -> dict[str, object]:
        """The reading as JSON; ``scores`` only when aspects were asked for."""
        document: dict[str, object] = {
            "sentences": [each.shape for each in self.sentences],
            "relevance": round(self.relevance, 4),
            "left_out": self.left_out,
        }
        return document | ({"scores": dict(self.scores)} if self.scores else {})


def reading_request(prompt: str) -> JudgePrompt:
    """The parsed prompt; a text without sections is a request about nothing."""
    sections: dict[str, list[str]] = {}
    current: list[str] = []
    for line in prompt.partition(JUDGE_LINE)[2].splitlines():
        if heading := HEADING.fullmatch(line):
            current = sections.setdefault(heading[1], [])
        elif line.startswith(QUOTED.rstrip()):
            current.append(line.removeprefix(QUOTED.rstrip()).removeprefix(" "))
    return JudgePrompt(
        question=without_markers("\n".join(sections.get("QUESTION", ()))),
        conversation=tuple(sections.get("CONVERSATION", ())),
        passages=tuple(_passages(sections.get("PASSAGES", ()))),
        sentences=tuple(_sentences(sections.get("REPLY", ()))),
        aspects=tuple(line.partition(":")[0].strip() for line in sections.get("ASPECTS", ()) if ":" in line),
    )


def reading_by_words(request: JudgePrompt, forced_score: float | None = None) -> SandboxReading:
    """A sentence is supported when all its content words stand in one statement of a passage.

    A question counts as answered when one of its content words stands in the reply, in the title of a passage
    that supports it, or in the heading above a quote. ``forced_score`` replaces each probability, the
    relevance and each score.
    """
    sentences = tuple(_verdict(number, text, request.passages) for number, text in request.sentences)
    if forced_score is not None:
        sentences = tuple(_forced(each, forced_score, request.passages) for each in sentences)
    relevance = _relevance(request, sentences) if forced_score is None else forced_score
    support = _support(sentences) if forced_score is None else forced_score
    return SandboxReading(
        sentences=sentences,
        relevance=relevance,
        left_out="" if relevance >= PASS_AT else "by shared words: all of the question",
        scores={name: relevance if name == RELEVANCE_ASPECT else support for name in request.aspects},
    )


def passage_sentences(passages: Sequence[NumberedPassage]) -> Iterator[tuple[NumberedPassage, str]]:
    """Each sentence of the passages with its passage, in order."""
    for passage in passages:
        for part in SENTENCE_END.split(passage.text):
            if part.strip():
                yield passage, part.strip()


def _verdict(number: int, text: str, passages: Sequence[NumberedPassage]) -> SentenceVerdict:
    words = content_words(text)
    if not words:
        return SentenceVerdict(number=number, verdict="no_claim")
    shares = (
        (overlap_share(words, content_words(each.text)), each.quotes)
        for passage in passages
        for each in statements(passage.text)
    )
    share, quotes = max(shares, key=lambda found: found[0], default=(0.0, ()))
    if share < 1:
        return SentenceVerdict(number=number, verdict="not_mentioned", probability=share / 2)
    return SentenceVerdict(number=number, verdict="supported", quotes=quotes, probability=0.99)


def _forced(found: SentenceVerdict, score: float, passages: Sequence[NumberedPassage]) -> SentenceVerdict:
    if score < PASS_AT:
        return SentenceVerdict(number=found.number, verdict="not_mentioned", probability=score)
    first = next((part for _, part in passage_sentences(passages)), "")
    return SentenceVerdict(
        number=found.number, verdict="supported", quotes=found.quotes or (first,), probability=score
    )


def _relevance(request: JudgePrompt, sentences: Sequence[SentenceVerdict]) -> float:
    quotes = {quote for each in sentences for quote in each.quotes}
    headings = (
        f"{passage.title} {each.heading}"
        for passage in request.passages
        for each in statements(passage.text)
        if not quotes.isdisjoint(each.quotes)
    )
    said = content_words(" ".join((*(text for _, text in request.sentences), *headings)))
    asked = content_words(request.question)
    if asks_nothing(request.question):
        return IRRELEVANT
    return RELEVANT if not asked or asked & said else IRRELEVANT


def asks_nothing(question: str) -> bool:
    """Whether a message is praise or a remark: an exclamation, or a sentence about its writer or the post."""
    remark = question.rstrip().endswith("!") or REMARK.match(question.strip()) is not None
    return remark and ASKING.search(question) is None


def _support(sentences: Sequence[SentenceVerdict]) -> float:
    claims = [each.probability for each in sentences if each.verdict != "no_claim"]
    return min(claims, default=1.0)


def _passages(lines: Sequence[str]) -> Iterator[NumberedPassage]:
    """Passages in order; a line that starts with another number than the next one is text."""
    opened: list[tuple[str, list[str]]] = []
    for line in lines:
        start = PASSAGE_START.fullmatch(line)
        if start and (not opened or int(start[1]) == len(opened) + 1 or not opened[-1][1]):
            opened.append((start[2], []))
        elif opened:
            opened[-1][1].append(line)
    for number, (title, text) in enumerate(opened, start=1):
        yield NumberedPassage(number=number, title=title, text="\n".join(text))


def _sentences(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Numbered sentences; a line without the next number belongs to the sentence before."""
    found: list[str] = []
    for line in lines:
        start = SENTENCE_START.fullmatch(line)
        if start and int(start[1]) == len(found) + 1:
            found.append(start[2])
        elif found:
            found[-1] += f" {line}"
    yield from enumerate(found, start=1)
