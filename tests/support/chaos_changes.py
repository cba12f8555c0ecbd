"""Changes of a recorded chaos run, each of which breaks one law."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from chaos.kinds import Law
from chaos.laws.observations import (
    Observations,
)
from tests.support.chaos_runs import (
    AFTER,
    ANSWERED,
    FLAGGED,
    HANDED,
    SECOND,
    decision,
    failures,
    key,
    late_webhook,
    line,
    opened,
    reply,
    webhook,
    with_ending,
    with_event,
    with_job,
    with_person,
    with_reason,
    with_reply,
    with_verdict,
)

Change = Callable[[Observations], Observations]
BREACHES: Final[tuple[tuple[Law, str, Change], ...]] = (
    (Law.LOST, "an entry without an end", lambda o: replace(o, duplicates=())),
    (
        Law.LOST,
        "an event without a decision",
        lambda o: replace(o, keys=o.keys[:4], decisions=o.decisions[:4]),
    ),
    (
        Law.TWICE,
        "an entry that ended twice",
        lambda o: replace(o, duplicates=(*o.duplicates, ("4-0", AFTER))),
    ),
    (
        Law.TWICE,
        "a second decision",
        lambda o: replace(o, decisions=(*o.decisions, decision(AFTER, "ignore"))),
    ),
    (Law.INVENTED, "an end of no entry", lambda o: replace(o, duplicates=(*o.duplicates, ("9-9", AFTER)))),
    (Law.INVENTED, "a decision without its key", lambda o: replace(o, keys=o.keys[1:])),
    (
        Law.INVENTED,
        "two decisions with each other's ids",
        lambda o: replace(
            o,
            decisions=(
                replace(o.decisions[0], decision_id="d-e2"),
                replace(o.decisions[1], decision_id="d-e1"),
                *o.decisions[2:],
            ),
        ),
    ),
    (
        Law.INVENTED,
        "two entries that ended as each other",
        lambda o: replace(
            o,
            keys=(
                *o.keys[:2],
                replace(o.keys[2], entry_id="3-0"),
                replace(o.keys[3], entry_id="2-0"),
                o.keys[4],
            ),
        ),
    ),
    (Law.DEAD_LETTERS, "an event as dead letter", lambda o: replace(o, dead=(*o.dead, ("4-0", AFTER)))),
    (
        Law.DEAD_LETTERS,
        "an event whose payload is not readable",
        lambda o: replace(o, dead=(*o.dead, ("4-0", "???"))),
    ),
    (Law.DEAD_LETTERS, "no dead letter", lambda o: replace(o, dead=())),
    (Law.ORDER, "commits", lambda o: replace(o, keys=(replace(o.keys[0], commit=19), *o.keys[1:]))),
    (Law.ORDER, "two in one commit", lambda o: replace(o, keys=(replace(o.keys[0], commit=12), *o.keys[1:]))),
    (Law.ORDER, "history", lambda o: replace(o, history=o.history[::-1])),
    (Law.ORDER, "replies", lambda o: replace(o, replies=o.replies[::-1])),
    (Law.ORDER, "a later entry", lambda o: replace(o, keys=(o.keys[0], key(SECOND, "1-3", 12), *o.keys[2:]))),
    (Law.NOT_SENT, "a reply", lambda o: replace(o, replies=o.replies[1:])),
    (Law.NOT_SENT, "an outbox row", lambda o: replace(o, outbox=o.outbox[1:])),
    (Law.NOT_SENT, "an escalation", lambda o: replace(o, escalations=())),
    (Law.NOT_SENT, "a closing", lambda o: replace(o, escalations=o.escalations[:1])),
    (Law.NOT_SENT, "a webhook", lambda o: replace(o, webhooks=o.webhooks[1:])),
    (
        Law.NOT_SENT,
        "cancelled for people who never came",
        lambda o: replace(o, taken={}, replies=o.replies[1:], outbox=with_reason(o, "taken_over")),
    ),
    (
        Law.NOT_SENT,
        "cancelled as too late",
        lambda o: replace(o, replies=o.replies[1:], outbox=with_reason(o, "too_late")),
    ),
    (
        Law.NOT_SENT,
        "a webhook cancelled for people who never came",
        lambda o: replace(o, taken={}, webhooks=o.webhooks[1:], webhooks_cancelled={ANSWERED: "taken_over"}),
    ),
    (
        Law.NOT_SENT,
        "a webhook cancelled as too late",
        lambda o: replace(o, webhooks=o.webhooks[1:], webhooks_cancelled={ANSWERED: "too_late"}),
    ),
    (
        Law.UNAPPROVED,
        "a blocked one",
        lambda o: replace(o, replies=(*o.replies, reply("53-0", FLAGGED, "m"))),
    ),
    (Law.UNAPPROVED, "by webhook", lambda o: replace(o, webhooks=(*o.webhooks, webhook("w4", FLAGGED, "m")))),
    (Law.UNAPPROVED, "no decision", lambda o: replace(o, replies=(*o.replies, reply("53-0", HANDED, "h")))),
    (Law.UNAPPROVED, "another text", lambda o: with_reply(o, text="From ten to five.")),
    (Law.UNAPPROVED, "to another question", lambda o: with_event(o, ANSWERED, answer="From ten to six.")),
    (Law.UNAPPROVED, "the decision of another event", lambda o: with_reply(o, decision_id="d-e2")),
    (Law.UNAPPROVED, "in another conversation", lambda o: with_reply(o, conversation="h")),
    (
        Law.UNAPPROVED,
        "a webhook with another text",
        lambda o: replace(o, webhooks=(replace(o.webhooks[0], text=""), *o.webhooks[1:])),
    ),
    (Law.UNAPPROVED, "an escalation", lambda o: replace(o, escalations=(*o.escalations, opened("d-e1")))),
    (
        Law.UNAPPROVED,
        "without a decision",
        lambda o: replace(o, escalations=(*o.escalations, opened("d-e9"))),
    ),
    (Law.SENT_TWICE, "a reply", lambda o: replace(o, replies=(*o.replies, reply("53-0", SECOND, "c")))),
    (
        Law.SENT_TWICE,
        "another webhook id",
        lambda o: replace(o, webhooks=(*o.webhooks, webhook("w9", ANSWERED, "c"))),
    ),
    (Law.SENT_TWICE, "an escalation", lambda o: replace(o, escalations=(o.escalations[0], *o.escalations))),
    (Law.SENT_TWICE, "closed, then opened", lambda o: replace(o, escalations=o.escalations[::-1])),
    (Law.AFTER_TAKEOVER, "a late reply", lambda o: replace(o, taken={"c": "50-0"})),
    (
        Law.AFTER_TAKEOVER,
        "a late webhook",
        lambda o: replace(o, taken={"c": "70-0"}, webhooks=(late_webhook(o), *o.webhooks[1:])),
    ),
    (
        Law.AFTER_TAKEOVER,
        "a later event",
        lambda o: replace(o, replies=(*o.replies, reply("53-0", AFTER, "t"))),
    ),
    (Law.AFTER_TAKEOVER, "after a person's message", lambda o: with_person(o, wrote_ms=49)),
    (Law.AFTER_TAKEOVER, "a person's message at an unknown time", lambda o: with_person(o, wrote_ms=0)),
    (Law.HISTORY, "a message", lambda o: replace(o, history=o.history[:-1])),
    (Law.HISTORY, "a message twice", lambda o: replace(o, history=(*o.history, o.history[-1]))),
    (Law.HISTORY, "a reply", lambda o: replace(o, history=(o.history[0], *o.history[2:]))),
    (Law.HISTORY, "a reply twice", lambda o: replace(o, history=(*o.history, o.history[1]))),
    (
        Law.HISTORY,
        "another text",
        lambda o: replace(o, history=(o.history[0], replace(o.history[1], text="No."), *o.history[2:])),
    ),
    (Law.HISTORY, "a reply that was not sent", lambda o: replace(o, replies=o.replies[1:])),
    (
        Law.HISTORY,
        "another conversation",
        lambda o: replace(o, history=(*o.history[:-1], replace(o.history[-1], conversation="c"))),
    ),
    (Law.RESIDUE, "in the history", lambda o: replace(o, history=(*o.history, line("m", FLAGGED, "zqf3q")))),
    (Law.RESIDUE, "in a prompt", lambda o: replace(o, residue=(FLAGGED,))),
    (
        Law.RESIDUE,
        "flagged text under another name",
        lambda o: replace(o, history=(*o.history, line("c", "other", "zqf3q"))),
    ),
    (Law.RESIDUE, "prompts unseen", lambda o: replace(o, prompts_missed=1)),
    (Law.ENDING, "a question without an answer", lambda o: with_ending(o, "ignore", "NO_ANSWER")),
    (
        Law.ENDING,
        "left to people who were not called",
        lambda o: with_ending(replace(o, taken={}), "ignore", "OWNED_BY_PEOPLE"),
    ),
    (Law.ENDING, "most calls failed", lambda o: failures(o, 30)),
    (Law.JOBS, "failed", lambda o: with_job(o, state="failed", processed=())),
    (Law.JOBS, "left out", lambda o: with_job(o, processed=("d-e2",))),
    (Law.JOBS, "twice", lambda o: with_job(o, processed=("d-e1", "d-e1"))),
    (Law.JOBS, "beyond its list", lambda o: with_job(o, processed=("d-e1", "d-e3"))),
    (Law.CHECKS, "not stored", lambda o: replace(o, stored_verdicts=())),
    (Law.CHECKS, "another verdict", lambda o: with_verdict(o, verdict="hold")),
    (Law.CHECKS, "a refusal", lambda o: with_verdict(o, decision_id="", verdict="status 409")),
    (Law.CHECKS, "two decisions", lambda o: replace(o, check_decisions=(*o.check_decisions, ("k1", "d-9")))),
    (Law.CHECKS, "no decision", lambda o: replace(o, check_decisions=())),
    (Law.CHECKS, "not asked for", lambda o: replace(o, checks={})),
    (Law.CHECKS, "a text that must be stopped", lambda o: replace(o, checks={"k1": True})),
    (Law.STUCK, "an entry", lambda o: replace(o, left={"entries on the stream": 1})),
    (Law.CRASH, "a worker", lambda o: replace(o, ended={"worker 1": 2})),
    (Law.LEAK, "a lane", lambda o: replace(o, leaks=("1 lane without entries",))),
)
