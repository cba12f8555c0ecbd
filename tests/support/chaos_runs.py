"""A recorded chaos run that breaks no law."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from chaos.laws.observations import (
    DecisionRow,
    EventKind,
    HistoryRow,
    KeyRow,
    Observations,
    OutboxRow,
    PublishedEvent,
    SeenEscalation,
    SeenJob,
    SeenReply,
    SeenVerdict,
    SeenWebhook,
)
from chaos.laws.oracle import GRACE_MS

TEXT = "From nine to five."
ANSWERED, SECOND, FLAGGED, HANDED, AFTER, BROKEN = "e1", "e2", "e3", "e4", "e5", "e6"


def event(name: str, conversation: str, kind: EventKind) -> PublishedEvent:
    return PublishedEvent(name=name, conversation=conversation, kind=kind)


def reply(stream_id: str, name: str, conversation: str, *, handoff: bool = False) -> SeenReply:
    return SeenReply(
        stream_id=stream_id, name=name, conversation=conversation, handoff=handoff, decision_id=f"d-{name}",
        text=TEXT,
    )  # fmt: skip


def webhook(identifier: str, name: str, conversation: str, *, handoff: bool = False) -> SeenWebhook:
    return SeenWebhook(
        identifier=identifier, name=name, conversation=conversation, handoff=handoff,
        decision_id=f"d-{name}", text=TEXT,
    )  # fmt: skip


def outbox(name: str, *, handoff: bool = False) -> OutboxRow:
    return OutboxRow(name=name, handoff=handoff, decision_id=f"d-{name}", text=TEXT)


def key(name: str, entry_id: str, commit: int) -> KeyRow:
    return KeyRow(name=name, entry_id=entry_id, decision_id=f"d-{name}", commit=commit)


def opened(decision_id: str) -> SeenEscalation:
    return SeenEscalation(decision_id=decision_id, closed=False)


def line(conversation: str, name: str, text: str, *, by_author: bool = True) -> HistoryRow:
    return HistoryRow(conversation=conversation, name=name, by_author=by_author, text=text)


def with_job(seen: Observations, **changes: Any) -> Observations:
    return replace(seen, jobs=(replace(seen.jobs[0], **changes),))


def with_verdict(seen: Observations, **changes: Any) -> Observations:
    """A run in which a repeated check had another answer."""
    return replace(seen, verdicts=(*seen.verdicts, replace(seen.verdicts[0], **changes)))


def with_ending(seen: Observations, kind: str, reason: str) -> Observations:
    return replace(seen, decisions=(decision(ANSWERED, kind, reason), *seen.decisions[1:]))


def failures(seen: Observations, count: int) -> Observations:
    """A run in which the model failed for so many further questions."""
    names = [f"f{number}" for number in range(count)]
    return replace(
        seen,
        published={**seen.published, **{name: event(name, name, EventKind.QUESTION) for name in names}},
        entries={**seen.entries, **{f"{100 + n}-0": name for n, name in enumerate(names)}},
        keys=(*seen.keys, *(key(name, f"{100 + n}-0", 100 + n) for n, name in enumerate(names))),
        decisions=(*seen.decisions, *(decision(name, "ignore", "LLM_ERROR") for name in names)),
    )


def with_event(seen: Observations, name: str, **changes: Any) -> Observations:
    """A run in which one event differs."""
    return replace(seen, published={**seen.published, name: replace(seen.published[name], **changes)})


def with_reply(seen: Observations, **changes: Any) -> Observations:
    """A run whose first reply differs."""
    return replace(seen, replies=(replace(seen.replies[0], **changes), *seen.replies[1:]))


def with_person(seen: Observations, *, wrote_ms: int) -> Observations:
    """A run in which a person wrote into the first conversation; the message was stored then."""
    return replace(
        seen,
        published={**seen.published, "e9": event("e9", "c", EventKind.AGENT)},
        entries={**seen.entries, "13-0": "e9"},
        keys=(*seen.keys, replace(key("e9", "13-0", 18), committed_ms=wrote_ms)),
        decisions=(*seen.decisions, decision("e9", "ignore", "AGENT_MESSAGE")),
        history=(*seen.history, line("c", "e9", "I will look after it.")),
    )


def late_webhook(seen: Observations) -> SeenWebhook:
    return replace(seen.webhooks[0], last_ms=70 + GRACE_MS + 1)


def with_reason(seen: Observations, reason: str) -> tuple[OutboxRow, ...]:
    return (replace(seen.outbox[0], cancelled=reason), *seen.outbox[1:])


def decision(name: str, kind: str, reason: str = "") -> DecisionRow:
    return DecisionRow(decision_id=f"d-{name}", name=name, decision=kind, reason=reason)


VERDICT: Final = SeenVerdict(name="k1", decision_id="d-k1", verdict="allow")
RIGHT: Final = Observations(
    published={
        each.name: each
        for each in (
            replace(event(ANSWERED, "c", EventKind.QUESTION), answer=TEXT),
            event(SECOND, "c", EventKind.QUESTION),
            event(FLAGGED, "m", EventKind.MODERATED),
            event(HANDED, "h", EventKind.HANDOFF),
            event(AFTER, "t", EventKind.AFTER_TAKEOVER),
            event(BROKEN, "", EventKind.MALFORMED),
        )
    },
    entries={"1-1": ANSWERED, "1-2": SECOND, "1-3": SECOND, "2-0": FLAGGED, "3-0": HANDED, "4-0": AFTER}
    | {"10-0": BROKEN},
    taken={"c": "60-0"},
    keys=(
        key(ANSWERED, "1-1", 11),
        key(SECOND, "1-2", 12),
        key(FLAGGED, "2-0", 13),
        key(HANDED, "3-0", 14),
        key(AFTER, "4-0", 15),
    ),
    decisions=(
        decision(ANSWERED, "respond", "REPLIED"),
        decision(SECOND, "respond", "REPLIED"),
        decision(FLAGGED, "ignore", "MODERATION_FLAGGED"),
        decision(HANDED, "escalate", "MODEL_ESCALATED"),
        decision(AFTER, "ignore", "OWNED_BY_PEOPLE"),
    ),
    duplicates=(("1-3", SECOND),),
    dead=(("10-0", BROKEN),),
    history=(
        line("c", ANSWERED, "When?"),
        line("c", ANSWERED, TEXT, by_author=False),
        line("c", SECOND, "Where?"),
        line("c", SECOND, TEXT, by_author=False),
        line("h", HANDED, "A human"),
        line("h", HANDED, TEXT, by_author=False),
        line("t", AFTER, "Are you there?"),
    ),
    outbox=(
        outbox(ANSWERED),
        outbox(SECOND),
        outbox(HANDED, handoff=True),
    ),
    replies=(
        reply("50-0", ANSWERED, "c"),
        reply("51-0", SECOND, "c"),
        reply("52-0", HANDED, "h", handoff=True),
    ),
    escalations=(
        SeenEscalation(decision_id="d-e4", closed=False),
        SeenEscalation(decision_id="d-e4", closed=True),
    ),
    closed_before=frozenset({"d-e4"}),
    webhooks=(
        webhook("w1", ANSWERED, "c"),
        webhook("w2", SECOND, "c"),
        webhook("w3", HANDED, "h", handoff=True),
    ),
    jobs=(
        SeenJob(
            name="export",
            state="done",
            expected=frozenset({"d-e1"}),
            allowed=frozenset({"d-e1", "d-e2"}),
            processed=("d-e1", "d-e2"),
        ),
    ),
    checks={"k1": False},
    verdicts=(VERDICT, VERDICT),
    stored_verdicts=(VERDICT,),
    check_decisions=(("k1", "d-k1"),),
)
