"""One decision as its page shows it: stored facts, arranged for reading."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from markupsafe import Markup

from db.decision_page import Line, Retraction, Row, Sealed
from review.care import cover
from review.story import margins, marks
from review.story.margins import Margin
from review.story.remarks import remarks
from review.story.sentences import Facts, sentence
from review.story.story import Story
from review.story.wording import plain

KEPT_CHARS: Final = 500
"""Characters of a message that the audit keeps (seed 004)."""
TOLD_ELSEWHERE: Final = frozenset({"highest"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """One line of the legend: what matched, how, where."""

    number: int
    subject: str
    rule: str
    how: str
    severity: str
    evidence: str
    score: float | None
    where: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One line of the waterfall; ``start`` and ``width`` in thousandths of the time at work."""

    name: str
    outcome: str
    duration_ms: float
    start: float
    width: float
    noted: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One line of the conversation: a neighbouring decision, with its own cover.

    Attributes:
        forgotten: it is known that the history holds none of it.
    """

    row: Row
    cover: tuple[str, ...]
    forgotten: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What the templates read; with a ``cover`` no text of the exchange is among it.

    Attributes:
        cover: why the texts are covered; empty when they are shown.
        message: the message with its marks, whole where ``whole``.
        draft: the draft that was stopped, with its marks; None when there is none to be seen.
        forgotten: the history holds nothing of this exchange.
        unread: sealed lines that are neither ``message`` nor ``draft``.
        waited_ms: before its turn.
        worked_ms: all stages together.
    """

    row: Row
    snapshot: Mapping[str, Any]
    cover: tuple[str, ...]
    sentence: str
    remarks: tuple[str, ...]
    message: Markup
    whole: bool
    draft: Markup | None
    sealed: Sealed
    retractions: tuple[Retraction, ...]
    blind: bool
    forgotten: bool
    unread: tuple[Line, ...]
    matches: tuple[Match, ...]
    before: tuple[Said, ...]
    after: tuple[Said, ...]
    stages: tuple[Stage, ...]
    waited_ms: float
    worked_ms: float
    moderation: tuple[Margin, ...]
    confidence: tuple[Margin, ...]


def scene(story: Story) -> Scene:
    """The story arranged, and emptied of texts where they are covered."""
    row, snapshot = story.row, story.row["snapshot_json"]
    covered = () if story.revealed else cover(story.covered, row)
    text, whole = _text(story)
    spans = {number: finding for number, finding in enumerate(snapshot["findings"], 1) if finding["span"]}
    draft = None if covered else _draft(story)
    durations = [stage["duration_ms"] for stage in snapshot["stages"]]
    facts = _facts(story, hides_rule=bool(covered))
    return Scene(
        row=row,
        snapshot=snapshot,
        cover=covered,
        sentence=sentence(facts),
        remarks=remarks(facts),
        message=Markup("") if covered else marks.marked(text, _of(spans, reply=False)),
        whole=whole,
        draft=None if draft is None else marks.marked(draft, _of(spans, reply=True)),
        sealed=replace(story.sealed, lines=()),
        retractions=story.retractions,
        blind=story.blind,
        forgotten=not story.conversation.lines.get(row["id"]),
        unread=() if covered else tuple(x for x in story.sealed.lines if x.text not in (text, draft)),
        matches=() if covered else tuple(_matches(snapshot["findings"], text, draft or "")),
        before=tuple(_said(story, each) for each in story.conversation.before),
        after=tuple(_said(story, each) for each in story.conversation.after),
        stages=tuple(_stages(snapshot["stages"])),
        waited_ms=max(0.0, _age(row) / timedelta(milliseconds=1) - sum(durations)),
        worked_ms=sum(durations),
        moderation=margins.of_moderation(snapshot),
        confidence=facts.margins,
    )


def _facts(story: Story, *, hides_rule: bool) -> Facts:
    then = story.rules.then
    settings = then.assessment_policy if then else None
    return Facts(
        row=story.row,
        failure=then.moderation_failure if then else None,
        hold_max_s=then.hold_max_s if then else None,
        reply_max_age_s=then.reply_max_age_s if then else None,
        margins=margins.of_assessment(story.row["snapshot_json"], settings),
        hides_rule=hides_rule,
    )


def _text(story: Story) -> tuple[str, bool]:
    """The message as far as this person may see it, and whether that is all of it."""
    kept: str = story.row["message_text"]
    if len(kept) < KEPT_CHARS:
        return kept, True
    lines = (*story.conversation.lines.get(story.row["id"], ()), *story.sealed.lines)
    fuller = [line.text for line in lines if line.role == "user" and line.text.startswith(kept)]
    return (fuller[-1], True) if fuller else (kept, False)


def _draft(story: Story) -> str | None:
    if not story.row["snapshot_json"].get("quarantined"):
        return None
    drafts = [line.text for line in story.sealed.lines if line.role == "assistant"]
    return drafts[-1] if drafts and _is_reply(story.row["reason_code"]) else None


def _is_reply(name: str) -> bool:
    return name.startswith("REPLY_") or name.endswith("_reply")


def _of(spans: Mapping[int, Mapping[str, Any]], *, reply: bool) -> dict[int, marks.Span]:
    return {
        number: (each["span"][0], each["span"][1])
        for number, each in spans.items()
        if _is_reply(each["stage"]) is reply
    }


def _matches(findings: Sequence[Mapping[str, Any]], text: str, draft: str) -> Iterator[Match]:
    for number, each in enumerate(findings, 1):
        reply, span = _is_reply(each["stage"]), each["span"]
        where = "the text as a whole" if span is None else marks.place(draft if reply else text, tuple(span))
        if reply and span is not None and not draft:
            where = f"characters {span[0] + 1} to {span[1]} of the draft"
        yield Match(
            number=number,
            subject="draft" if reply else "message",
            rule=each["matched_rule"],
            how=each["how"],
            severity=each["severity"],
            evidence=each["evidence"],
            score=each["score"],
            where=where,
        )


def _said(story: Story, neighbour: Row) -> Said:
    """A neighbour under its own cover."""
    own = () if story.revealed else cover(story.covered, neighbour)
    known = neighbour["id"] not in story.hidden
    return Said(
        row=neighbour, cover=own, forgotten=known and not story.conversation.lines.get(neighbour["id"])
    )


def _stages(stages: Sequence[Mapping[str, Any]]) -> Iterator[Stage]:
    total, before = sum(stage["duration_ms"] for stage in stages) or 1.0, 0.0
    for stage in stages:
        length = stage["duration_ms"]
        yield Stage(
            name=stage["stage"],
            outcome=stage["outcome"],
            duration_ms=length,
            start=round(1000 * before / total, 1),
            width=round(max(4.0, 1000 * length / total), 1),
            noted=tuple(_noted(stage["detail"])),
        )
        before += length


def _noted(detail: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in detail.items():
        if name not in TOLD_ELSEWHERE and value not in ([], None, ""):
            shown = f"{value:.2f}" if isinstance(value, float) else value
            yield name.replace("_", " "), shown if isinstance(shown, str) else plain(shown)


def _age(row: Row) -> timedelta:
    made: datetime = row["created_at"]
    return made - datetime.fromisoformat(row["snapshot_json"]["received_at"])
