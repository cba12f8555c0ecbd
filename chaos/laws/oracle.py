"""Which laws do not hold. Judged from what was published and seen, never from a figure of the product."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Final

from chaos.kinds import Law
from chaos.laws.endings import called_conversations, wrong_endings
from chaos.laws.history import residue, wrong_history
from chaos.laws.observations import (
    ANSWERABLE,
    EventKind,
    Observations,
    SeenReply,
    SeenWebhook,
)
from chaos.laws.sentences import each, repeated

MOST_LATER: Final = 0.01
"""Share of the replies; 3 of 12,000 are usual."""
FEW: Final = 5
GRACE_MS: Final = 5_000
"""A webhook that was being sent when people took its conversation may arrive so much later."""
TAKEN_OVER: Final = "taken_over"
"""The only reason to keep a reply back: nothing is deleted, edited or too old for a reply in a run."""

VERDICTS: Final = {True: frozenset({"block", "hold"}), False: frozenset({"allow", "hold"})}
"""Of a text that must be stopped, and of another one; ``hold`` while models or moderation do not answer."""


def breaches(seen: Observations) -> dict[Law, tuple[str, ...]]:
    """A sentence for each breach, by law; every law is in it."""
    return {law: tuple(judge(seen)) for law, judge in JUDGES.items()}


def stream_order(entry_id: str) -> tuple[int, int]:
    """The place of an entry in its stream; a conversation is always in the same shard."""
    milliseconds, _, number = entry_id.partition("@")[0].partition("-")
    return int(milliseconds), int(number)


def _lost(seen: Observations) -> Iterator[str]:
    """Every acknowledged entry has an end, and every event a decision."""
    ends = {row.entry_id for row in seen.keys if row.decision_id}
    ends |= {entry for entry, _ in (*seen.duplicates, *seen.dead)}
    yield from each("entry without an end", set(seen.entries) - ends)
    accepted = {name for name in seen.entries.values() if _is_event(seen, name)}
    yield from each("event without a decision", accepted - {row.name for row in seen.decisions})


def _twice(seen: Observations) -> Iterator[str]:
    """No entry has two ends, no event two decisions."""
    ends = Counter(row.entry_id for row in seen.keys if row.decision_id)
    ends.update(entry for entry, _ in (*seen.duplicates, *seen.dead))
    yield from each("entry with several ends", repeated(ends))
    yield from each("event with several decisions", repeated(Counter(row.name for row in seen.decisions)))


def _invented(seen: Observations) -> Iterator[str]:
    """No row without a cause: an unknown entry is one of an attempt that was not acknowledged."""
    rows = [(row.entry_id, row.name) for row in seen.keys if row.decision_id]
    strange = Counter(
        name for entry, name in (*rows, *seen.duplicates, *seen.dead) if entry not in seen.entries
    )
    more = {name for name, count in strange.items() if count > seen.unacknowledged.get(name, 0)}
    yield from each("end of an entry that was not published", more)
    others = (
        entry
        for entry, name in (*rows, *seen.duplicates, *seen.dead)
        if seen.entries.get(entry, name) != name
    )
    yield from each("entry that ended as another event", others)
    keys = {(row.decision_id, row.name) for row in seen.keys if row.decision_id}
    unmatched = keys ^ {(row.decision_id, row.name) for row in seen.decisions}
    yield from each("key and decision that do not belong together", unmatched)


def _dead_letters(seen: Observations) -> Iterator[str]:
    """A dead letter is a payload that is no event, and every such payload is one."""
    dead = {seen.entries.get(entry, name) for entry, name in seen.dead}
    malformed = {name for name in seen.entries.values() if seen.published[name].kind is EventKind.MALFORMED}
    yield from each("malformed payload that is no dead letter", malformed - dead)
    yield from each("event as dead letter", {name for name in dead if _is_event(seen, name)})


def _order(seen: Observations) -> Iterator[str]:
    """Decisions, history and replies of a conversation are in the order of its entries."""
    first: dict[str, tuple[int, int]] = {}
    for entry, name in seen.entries.items():
        first[name] = min(first.get(name, (1 << 63, 0)), stream_order(entry))
    decided: dict[str, list[tuple[int, tuple[int, int]]]] = defaultdict(list)
    place: dict[str, tuple[int, int]] = {}
    for row in seen.keys:
        if row.decision_id and row.name in seen.published:
            place[row.name] = stream_order(row.entry_id)
            decided[seen.published[row.name].conversation].append((row.commit, place[row.name]))
            if place[row.name] > first.get(row.name, place[row.name]):
                yield f"decided from a later entry: {row.name}"
    yield from _unordered("decisions", {name: sorted(rows) for name, rows in decided.items()})
    stored: dict[str, list[tuple[int, tuple[int, int]]]] = defaultdict(list)
    for number, line in enumerate(seen.history):
        if line.by_author and line.name in place:
            stored[line.conversation].append((number, place[line.name]))
    yield from _unordered("history", stored)
    sent: dict[str, list[tuple[int, tuple[int, int]]]] = defaultdict(list)
    for number, reply in enumerate(seen.replies):
        if not reply.handoff and reply.name in place:
            sent[reply.conversation].append((number, place[reply.name]))
    yield from _unordered("replies", sent)


def _not_sent(seen: Observations) -> Iterator[str]:
    """Every approved reply is on its stream, and every escalation; each reply on the stream was a webhook.

    A reply may be kept back only where the run called people; a few webhooks may wait for a later attempt.
    """
    on_stream = {(reply.name, reply.handoff) for reply in seen.replies}
    people = called_conversations(seen)

    def is_kept_back(name: str, reason: str) -> bool:
        event = seen.published.get(name)
        return reason == TAKEN_OVER and event is not None and event.conversation in people

    due = {(row.name, row.handoff) for row in seen.outbox if not is_kept_back(row.name, row.cancelled)}
    yield from each("reply that is not on the stream", due - on_stream)
    stored = {row.name for row in seen.outbox}
    respond = {row.name for row in seen.decisions if row.decision == "respond"}
    yield from each("approved reply without an outbox row", respond - stored)
    escalated = {row.decision_id for row in seen.decisions if row.decision == "escalate"}
    opened = {entry.decision_id for entry in seen.escalations if not entry.closed}
    yield from each("escalation that is not on the stream", escalated - opened)
    closed = {entry.decision_id for entry in seen.escalations if entry.closed}
    yield from each("closing that is not on the stream", seen.closed_before - closed)
    received = {(webhook.name, webhook.handoff) for webhook in seen.webhooks}
    missing = {name for name, _ in on_stream - received}
    kept_back = {name for name in missing if is_kept_back(name, seen.webhooks_cancelled.get(name, ""))}
    later = missing & seen.webhooks_later
    yield from each("reply that no webhook brought", missing - kept_back - later)
    if len(later) > max(FEW, MOST_LATER * len(on_stream)):
        yield f"{len(later)} of {len(on_stream)} webhooks wait for a later attempt"


def _unapproved(seen: Observations) -> Iterator[str]:
    """Only answerable events have replies: those of their decisions, in their conversations."""
    due = {(row.decision_id, row.name, row.decision) for row in seen.decisions}
    stored = {(row.decision_id, row.name, row.handoff, row.text) for row in seen.outbox}
    sent: tuple[SeenReply | SeenWebhook, ...] = (*seen.replies, *seen.webhooks)
    for reply in sent:
        event = seen.published.get(reply.name)
        if event is None or event.kind not in ANSWERABLE:
            yield f"reply to an event that may have none: {reply.name} ({event and event.kind})"
        elif (reply.decision_id, reply.name, "escalate" if reply.handoff else "respond") not in due:
            yield f"reply without a decision for it: {reply.name}"
        elif (reply.decision_id, reply.name, reply.handoff, reply.text) not in stored:
            yield f"reply with another text: {reply.name}"
        elif reply.conversation != event.conversation:
            yield f"reply in another conversation: {reply.name}"
        elif event.answer and not reply.handoff and reply.text != event.answer:
            yield f"reply to another question: {reply.name}"
    opened = {entry.decision_id for entry in seen.escalations}
    may_open = {
        row.decision_id
        for row in seen.decisions
        if row.decision == "escalate" or row.reason == "OWNED_BY_PEOPLE"
    }  # a message to people opens an escalation again when none is open, such as after one closed as idle
    yield from each("escalation without a decision for it", opened - may_open)


def _sent_twice(seen: Observations) -> Iterator[str]:
    """Each reply is once on its stream, under one webhook id; escalations open once, then close once."""
    yield from each(
        "reply that is on the stream again",
        repeated(Counter((reply.name, reply.handoff) for reply in seen.replies)),
    )
    identifiers = {(webhook.identifier, webhook.name, webhook.handoff) for webhook in seen.webhooks}
    yield from each(
        "reply under several webhook ids",
        repeated(Counter((name, handoff) for _, name, handoff in identifiers)),
    )
    yield from each(
        "escalation that is on the stream again",
        repeated(Counter((entry.decision_id, entry.closed) for entry in seen.escalations)),
    )
    opened = set[str]()
    for entry in seen.escalations:
        if entry.closed and entry.decision_id not in opened:
            yield f"closed before it was opened: {entry.decision_id}"
        opened.add(entry.decision_id)


def _after_takeover(seen: Observations) -> Iterator[str]:
    """Nothing of the AI follows the answer that a person has the conversation, nor a person's message."""
    for reply in seen.replies:
        limit = seen.taken.get(reply.conversation)
        if limit is not None and _is_later(reply, limit):
            yield f"reply on the stream after the takeover: {reply.name}"
    wrote_ms = {
        seen.published[row.name].conversation: row.committed_ms
        for row in seen.keys
        if _kind(seen, row.name) is EventKind.AGENT
    }
    yield from each(
        "time of a person's message unknown", {name for name, at_ms in wrote_ms.items() if not at_ms}
    )
    for reply in seen.replies:
        limit_ms = wrote_ms.get(reply.conversation)
        if limit_ms and not reply.handoff and stream_order(reply.stream_id)[0] > limit_ms:
            yield f"reply on the stream after a person's message: {reply.name}"
    later = EventKind.AFTER_TAKEOVER
    sent: tuple[SeenReply | SeenWebhook, ...] = (*seen.replies, *seen.webhooks)
    for answered in sent:
        event = seen.published.get(answered.name)
        if event is not None and event.kind is later:
            yield f"reply to an event after the takeover: {answered.name}"
    for webhook in seen.webhooks:
        limit = seen.taken.get(webhook.conversation)
        if limit and not webhook.handoff and webhook.last_ms > stream_order(limit)[0] + GRACE_MS:
            yield f"webhook after the takeover: {webhook.name}"


def _jobs(seen: Observations) -> Iterator[str]:
    """Every review job ends whole: what it had to process once each, and nothing else."""
    for job in seen.jobs:
        if job.state != "done":
            yield f"{job.name} ended as {job.state}"
            continue
        processed = Counter(job.processed)
        yield from each(f"{job.name} left out", job.expected - processed.keys())
        yield from each(f"{job.name} processed twice", repeated(processed))
        yield from each(f"{job.name} processed beyond its list", processed.keys() - job.allowed)


def _checks(seen: Observations) -> Iterator[str]:
    """Each check has one verdict, stored once with its decision; no text passes that must be stopped."""
    stored = set(seen.stored_verdicts)
    yield from each("verdict that is not stored", {row.name for row in set(seen.verdicts) - stored})
    keys = Counter((row.name, row.decision_id) for row in seen.stored_verdicts)
    decisions = Counter(seen.check_decisions)
    unmatched = (keys - decisions) + (decisions - keys)
    yield from each("check and decision that do not belong together", unmatched)
    yield from each("check with several verdicts", repeated(Counter(name for name, _ in keys)))
    for row in stored:
        if row.name not in seen.checks:
            yield f"check that was not asked for: {row.name}"
        elif row.verdict not in VERDICTS[seen.checks[row.name]]:
            yield f"wrong verdict: {row.name} ended as {row.verdict}"


def _stuck(seen: Observations) -> Iterator[str]:
    return (f"{count} {what}" for what, count in seen.left.items() if count)


def _leak(seen: Observations) -> Iterator[str]:
    return iter(seen.leaks)


def _crash(seen: Observations) -> Iterator[str]:
    """Processes end only by a signal of the run, and on SIGTERM in time."""
    return (f"{count} times {what}" for what, count in seen.ended.items())


JUDGES: Final[Mapping[Law, Callable[[Observations], Iterator[str]]]] = {
    Law.LOST: _lost,
    Law.TWICE: _twice,
    Law.INVENTED: _invented,
    Law.DEAD_LETTERS: _dead_letters,
    Law.ORDER: _order,
    Law.NOT_SENT: _not_sent,
    Law.UNAPPROVED: _unapproved,
    Law.SENT_TWICE: _sent_twice,
    Law.AFTER_TAKEOVER: _after_takeover,
    Law.RESIDUE: residue,
    Law.HISTORY: wrong_history,
    Law.ENDING: wrong_endings,
    Law.JOBS: _jobs,
    Law.CHECKS: _checks,
    Law.STUCK: _stuck,
    Law.LEAK: _leak,
    Law.CRASH: _crash,
}


def _kind(seen: Observations, name: str) -> EventKind | None:
    event = seen.published.get(name)
    return None if event is None else event.kind


def _is_event(seen: Observations, name: str) -> bool:
    return _kind(seen, name) not in {None, EventKind.MALFORMED}


def _is_later(reply: SeenReply, limit: str) -> bool:
    return not reply.handoff and stream_order(reply.stream_id) > stream_order(limit)


def _unordered(what: str, rows: Mapping[str, list[tuple[int, tuple[int, int]]]]) -> Iterator[str]:
    """Conversations whose rows, in the order of their numbers, are not in the order of their entries."""
    for conversation, found in rows.items():
        if any(a[1] >= b[1] or a[0] >= b[0] for a, b in pairwise(found)):
            yield f"{what} of {conversation}"
