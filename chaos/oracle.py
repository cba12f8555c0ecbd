"""Which laws do not hold. Judged from what was published and seen, never from a figure of the product."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Final

from chaos.endings import called_conversations, wrong_endings
from chaos.kinds import Law
from chaos.observations import (
    ANSWERABLE,
    MARKED,
    EventKind,
    Observations,
    PublishedEvent,
    SeenReply,
    SeenWebhook,
)

MOST_LATER: Final = 0.01
"""Share of the replies; 3 of 12,000 are usual."""
FEW: Final = 5
GRACE_MS: Final = 5_000
"""A webhook that was being sent when people took its conversation may arrive so much later."""
TAKEN_OVER: Final = "taken_over"
"""The only reason to keep a reply back: nothing is deleted, edited or too old for a reply in a run."""


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
    yield from _each("entry without an end", set(seen.entries) - ends)
    accepted = {name for name in seen.entries.values() if _is_event(seen, name)}
    yield from _each("event without a decision", accepted - {row.name for row in seen.decisions})


def _twice(seen: Observations) -> Iterator[str]:
    """No entry has two ends, no event two decisions."""
    ends = Counter(row.entry_id for row in seen.keys if row.decision_id)
    ends.update(entry for entry, _ in (*seen.duplicates, *seen.dead))
    yield from _each("entry with several ends", _repeated(ends))
    yield from _each("event with several decisions", _repeated(Counter(row.name for row in seen.decisions)))


def _invented(seen: Observations) -> Iterator[str]:
    """No row without a cause: an unknown entry is one of an attempt that was not acknowledged."""
    rows = [(row.entry_id, row.name) for row in seen.keys if row.decision_id]
    strange = Counter(
        name for entry, name in (*rows, *seen.duplicates, *seen.dead) if entry not in seen.entries
    )
    more = {name for name, count in strange.items() if count > seen.unacknowledged.get(name, 0)}
    yield from _each("end of an entry that was not published", more)
    keys = {row.decision_id for row in seen.keys if row.decision_id}
    unmatched = keys ^ {row.decision_id for row in seen.decisions}
    yield from _each("key and decision that do not belong together", unmatched)


def _dead_letters(seen: Observations) -> Iterator[str]:
    """A dead letter is a payload that is no event, and every such payload is one."""
    dead = {name for _, name in seen.dead}
    malformed = {name for name in seen.entries.values() if seen.published[name].kind is EventKind.MALFORMED}
    yield from _each("malformed payload that is no dead letter", malformed - dead)
    yield from _each("event as dead letter", {name for name in dead if _is_event(seen, name)})


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
    yield from _each("reply that is not on the stream", due - on_stream)
    stored = {row.name for row in seen.outbox}
    respond = {row.name for row in seen.decisions if row.decision == "respond"}
    yield from _each("approved reply without an outbox row", respond - stored)
    escalated = {row.decision_id for row in seen.decisions if row.decision == "escalate"}
    opened = {each.decision_id for each in seen.escalations if not each.closed}
    yield from _each("escalation that is not on the stream", escalated - opened)
    received = {(each.name, each.handoff) for each in seen.webhooks}
    missing = {name for name, _ in on_stream - received}
    kept_back = {name for name in missing if is_kept_back(name, seen.webhooks_cancelled.get(name, ""))}
    later = missing & seen.webhooks_later
    yield from _each("reply that no webhook brought", missing - kept_back - later)
    if len(later) > max(FEW, MOST_LATER * len(on_stream)):
        yield f"{len(later)} of {len(on_stream)} webhooks wait for a later attempt"


def _unapproved(seen: Observations) -> Iterator[str]:
    """Only answerable events have replies, and only where a decision says so."""
    kinds = {name: event.kind for name, event in seen.published.items()}
    due = {(row.name, row.decision) for row in seen.decisions}
    sent: tuple[SeenReply | SeenWebhook, ...] = (*seen.replies, *seen.webhooks)
    for reply in sent:
        kind = kinds.get(reply.name)
        if kind is None or kind not in ANSWERABLE:
            yield f"reply to an event that may have none: {reply.name} ({kind})"
        elif (reply.name, "escalate" if reply.handoff else "respond") not in due:
            yield f"reply without a decision for it: {reply.name}"
    opened = {each.decision_id for each in seen.escalations}
    may_open = {
        row.decision_id
        for row in seen.decisions
        if row.decision == "escalate" or row.reason == "OWNED_BY_PEOPLE"
    }  # a message to people opens an escalation again when none is open, such as after one closed as idle
    yield from _each("escalation without a decision for it", opened - may_open)


def _sent_twice(seen: Observations) -> Iterator[str]:
    """Each reply is once on its stream, under one webhook id; escalations open once, then close once."""
    yield from _each(
        "reply that is on the stream again",
        _repeated(Counter((reply.name, reply.handoff) for reply in seen.replies)),
    )
    identifiers = {(each.identifier, each.name, each.handoff) for each in seen.webhooks}
    yield from _each(
        "reply under several webhook ids",
        _repeated(Counter((name, handoff) for _, name, handoff in identifiers)),
    )
    yield from _each(
        "escalation that is on the stream again",
        _repeated(Counter((each.decision_id, each.closed) for each in seen.escalations)),
    )
    opened = set[str]()
    for each in seen.escalations:
        if each.closed and each.decision_id not in opened:
            yield f"closed before it was opened: {each.decision_id}"
        opened.add(each.decision_id)


def _after_takeover(seen: Observations) -> Iterator[str]:
    """Nothing of the AI follows the answer that a person has the conversation, nor a person's message."""
    for reply in seen.replies:
        limit = seen.taken.get(reply.conversation)
        if limit is not None and _is_later(reply, limit):
            yield f"reply on the stream after the takeover: {reply.name}"
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


def _residue(seen: Observations) -> Iterator[str]:
    """No flagged exchange is in the history, or in a later prompt.

    Where people own the conversation, only rules flag. A message whose draft would be flagged is clean: it
    stays when the model gave no answer.
    """
    people = called_conversations(seen)
    undrafted = {row.name for row in seen.decisions if row.reason == "LLM_ERROR"}
    flagged = {
        name
        for name, event in seen.published.items()
        if _is_flagged(event, people) and not (event.kind is EventKind.BAD_DRAFT and name in undrafted)
    }
    kept = {line.name for line in seen.history} & flagged
    marks = {mark for line in seen.history for mark in MARKED.findall(line.text)}
    kept |= {name for name in flagged if name.rpartition(".")[2].lstrip("e") in marks}
    yield from _each("flagged exchange in the history", kept)
    yield from _each("flagged text in a later prompt", set(seen.residue) & flagged)
    if seen.prompts_missed:
        yield f"{seen.prompts_missed} unread requests to models"


def _jobs(seen: Observations) -> Iterator[str]:
    """Every review job ends whole: what it had to process once each, and nothing else."""
    for job in seen.jobs:
        if job.state != "done":
            yield f"{job.name} ended as {job.state}"
            continue
        processed = Counter(job.processed)
        yield from _each(f"{job.name} left out", job.expected - processed.keys())
        yield from _each(f"{job.name} processed twice", _repeated(processed))
        yield from _each(f"{job.name} processed beyond its list", processed.keys() - job.allowed)


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
    Law.RESIDUE: _residue,
    Law.ENDING: wrong_endings,
    Law.JOBS: _jobs,
    Law.STUCK: _stuck,
    Law.LEAK: _leak,
    Law.CRASH: _crash,
}


def _each(what: str, found: Iterable[object]) -> Iterator[str]:
    return (f"{what}: {each}" for each in sorted(map(str, found)))


def _repeated(counts: Counter[object] | Counter[str] | Counter[tuple[str, bool]]) -> set[object]:
    return {each for each, count in counts.items() if count > 1}


def _kind(seen: Observations, name: str) -> EventKind | None:
    event = seen.published.get(name)
    return None if event is None else event.kind


def _is_event(seen: Observations, name: str) -> bool:
    return _kind(seen, name) not in {None, EventKind.MALFORMED}


def _is_flagged(event: PublishedEvent, people: set[str]) -> bool:
    by_model = event.kind in {EventKind.MODERATED, EventKind.BAD_DRAFT}
    return event.kind is EventKind.RULE or (by_model and event.conversation not in people)


def _is_later(reply: SeenReply, limit: str) -> bool:
    return not reply.handoff and stream_order(reply.stream_id) > stream_order(limit)


def _unordered(what: str, rows: Mapping[str, list[tuple[int, tuple[int, int]]]]) -> Iterator[str]:
    """Conversations whose rows, in the order of their numbers, are not in the order of their entries."""
    for conversation, found in rows.items():
        if any(a[1] >= b[1] or a[0] >= b[0] for a, b in pairwise(found)):
            yield f"{what} of {conversation}"
