"""Millions of decisions over thirty days, multiplied from those that ``hushgate demo`` really made."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from itertools import accumulate
from typing import Final

import psycopg

from db.figures import hourly
from db.review_store import Store
from trials.jobs.suggesting import compute_due

DAYS: Final = 30
ACCOUNTS: Final = 200
BATCH: Final = 250_000
NEEDLE: Final = "kumquat"
"""A word that one text in 100,000 holds."""

SHARES: Final = {
    "REPLIED": 3800,
    "NO_EVIDENCE": 1400,
    "AI_DISABLED": 1200,
    "FLAGGED_RULE": 900,
    "NO_ANSWER": 700,
    "LOW_CONFIDENCE": 600,
    "LOW_CONFIDENCE_ESCALATED": 380,
    "PROMISED_ACTION": 20,
    "CHATS_DISABLED": 300,
    "MODERATION_FLAGGED": 200,
    "MODEL_ESCALATED": 100,
    "LLM_ERROR": 80,
    "UNKNOWN_ACCOUNT": 50,
    "TOO_LATE": 50,
    "MODEL_REFUSED": 30,
    "REPLY_FLAGGED_RULE": 30,
    "MODERATION_UNAVAILABLE": 30,
    "REPLY_MODERATION_FLAGGED": 20,
    "MODERATION_TIMED_OUT": 5,
    "LLM_REJECTED": 2,
    "TOOL_LOOP": 1,
}
"""Decisions by reason, in ten-thousandths: rare ones are what reviewers look for."""
LIKE: Final = {
    "NO_EVIDENCE": "NO_ANSWER",
    "AI_DISABLED": "UNKNOWN_ACCOUNT",
    "CHATS_DISABLED": "UNKNOWN_ACCOUNT",
    "TOO_LATE": "UNKNOWN_ACCOUNT",
    "LOW_CONFIDENCE": "NO_ANSWER",
    "PROMISED_ACTION": "LOW_CONFIDENCE_ESCALATED",
    "MODERATION_UNAVAILABLE": "LLM_ERROR",
    "MODERATION_TIMED_OUT": "LLM_ERROR",
    "LLM_REJECTED": "LLM_ERROR",
    "TOOL_LOOP": "LLM_ERROR",
}
"""Whose rows stand in for a reason that the demo never comes to."""

TABLES: Final = """
CREATE TEMP TABLE model AS
    SELECT reason_code, row_number() OVER (PARTITION BY reason_code) - 1 AS number,
        scope, decision, confidence, reason, matched_rule, snapshot_json, degraded
    FROM ai_decisions WHERE event_id LIKE 'demo-%';
CREATE TEMP TABLE choice (place integer PRIMARY KEY, reason_code text, stands_for text, many bigint);
CREATE TEMP TABLE fragment (number integer PRIMARY KEY, text text);
"""
COUNTED: Final = """
UPDATE choice SET many = known.many
FROM (SELECT reason_code, count(*) AS many FROM model GROUP BY reason_code) AS known
WHERE known.reason_code = choice.stands_for
"""
ROWS: Final = """
INSERT INTO ai_decisions (
    created_at, id, user_id, event_id, message_id, conversation_id, author_id, scope, decision, confidence,
    reason_code, reason, matched_rule, message_text, snapshot_json, degraded)
SELECT at, (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '7' || substr(digest, 1, 3)
        || '8' || substr(digest, 4, 15))::uuid,
    account, 'e' || n, 'm' || n, 'c' || mod(two, total / 12 + 1), 'author-' || author, model.scope,
    model.decision,
    CASE WHEN model.confidence IN (0, 1) THEN model.confidence ELSE mod(one, 1000) / 1000.0 END,
    choice.reason_code, model.reason,
    CASE WHEN model.matched_rule IS NOT NULL AND mod(one, 3) > 0
        THEN 'flagged_keyword:w' || floor(power(mod(two, 10000) / 10000.0, 3) * 3000)
        ELSE model.matched_rule END,
    front.text || ' ' || back.text || CASE WHEN mod(n, 100000) = 77 THEN ' kumquat' ELSE '' END,
    jsonb_set(model.snapshot_json, '{rules_version}', to_jsonb(1 + n * 5 / total))
        || CASE WHEN mod(two, 40) = 7 THEN '{"type": "check"}'::jsonb ELSE '{}' END,
    model.degraded
FROM (
    SELECT n, total, digest, one, two,
        %(now)s::timestamptz
            - make_interval(secs => (total - n) * %(days)s * 86400.0 / total + mod(one, 500) / 1e3) AS at,
        'account-' || floor(power(mod(one, 100003) / 100003.0, 3) * %(accounts)s) AS account,
        floor(power(mod(two, 100003) / 100003.0, 4) * total / 20) AS author
    FROM (
        SELECT n, %(total)s::bigint AS total, md5('a' || n) AS digest, abs(hashint8(n)::bigint) AS one,
            abs(hashint8(n + 7000000000)::bigint) AS two
        FROM generate_series(%(first)s::bigint, %(last)s::bigint) AS n
    ) AS drawn
) AS placed
JOIN choice ON choice.place = mod(placed.one / 7, 10000)
JOIN model ON model.reason_code = choice.stands_for AND model.number = mod(placed.two / 11, choice.many)
JOIN fragment AS front ON front.number = mod(placed.two / 3, 20000)
JOIN fragment AS back ON back.number = mod(placed.one / 5, 20000)
ORDER BY at
"""
REVIEWED: Final = """
INSERT INTO review_states (decision_id, decision_at, user_id, state, reviews, last_review)
SELECT id, created_at, user_id,
    (ARRAY['agree', 'agree', 'agree', 'agree', 'agree', 'agree', 'overturn', 'overturn', 'unsure', 'disputed']
    )[1 + abs(hashtext(event_id)::bigint) / 100 % 10], 1, id
FROM ai_decisions WHERE abs(hashtext(event_id)::bigint) % 100 = 0 ON CONFLICT DO NOTHING
"""
REPLIES: Final = """
INSERT INTO outbox (
    user_id, event_id, decision_id, conversation_id, message_id, scope, text, created_at, delivered_at)
SELECT user_id, event_id, id, conversation_id, message_id, scope, 'We are open from nine to six. [1]',
    created_at, created_at + interval '0.2 s'
FROM ai_decisions WHERE decision = 'respond' ON CONFLICT DO NOTHING
"""
HISTORY: Final = """
INSERT INTO messages (user_id, conversation_id, message_id, decision_id, role, text, created_at)
SELECT user_id, conversation_id, message_id, id, 'user', message_text, created_at
FROM ai_decisions WHERE decision = 'respond'
"""


def fill(url: str, rows: int) -> None:
    """Multiply what is in ``ai_decisions`` to ``rows`` more, the newest of them now, in the order of time."""
    now = datetime.now(UTC)
    with psycopg.connect(url, autocommit=True) as connection:
        prepare(connection)
        for first in range(0, rows, BATCH):
            last = min(first + BATCH, rows) - 1
            values = {
                "total": rows,
                "first": first,
                "last": last,
                "days": DAYS,
                "accounts": ACCOUNTS,
                "now": now,
            }
            connection.execute(ROWS, values)
            print(f"{last + 1:,} of {rows:,} decisions", flush=True)
        for statement in (REVIEWED, REPLIES, HISTORY, "VACUUM ANALYZE"):
            connection.execute(statement)


def prepare(connection: psycopg.Connection) -> None:
    """Partitions of thirty days, and the temporary tables that ``ROWS`` reads."""
    connection.execute("SET synchronous_commit = off")
    connection.execute("SELECT hushgate_ensure_partitions((now() - interval '31 days')::date, 3)")
    connection.execute(TABLES)
    _choices(connection)


def _choices(connection: psycopg.Connection) -> None:
    reasons = [code for code, share in SHARES.items() for _ in range(share)]
    reasons += ["REPLIED"] * (10_000 - len(reasons))
    chance = random.Random(5)
    chance.shuffle(reasons)
    letters = "bcdfghklmnprstvwaeiou"
    words = ["".join(chance.choices(letters, k=chance.randint(2, 9))) for _ in range(20_000)]
    weights = list(accumulate(1 / (rank + 1) for rank in range(len(words))))
    with connection.cursor() as cursor:
        with cursor.copy("COPY choice (place, reason_code, stands_for) FROM STDIN") as copy:
            for place, code in enumerate(reasons):
                copy.write_row((place, code, LIKE.get(code, code)))
        with cursor.copy("COPY fragment FROM STDIN") as copy:
            for number in range(20_000):
                length = chance.randint(2, 14)
                copy.write_row((number, " ".join(chance.choices(words, cum_weights=weights, k=length))))
        cursor.execute(COUNTED)
        lacking = cursor.execute("SELECT DISTINCT reason_code FROM choice WHERE many IS NULL").fetchall()
        if lacking:
            raise RuntimeError(f"no decision of the demo stands for {lacking}: add a line to LIKE")
        cursor.execute("ANALYZE model; ANALYZE choice; ANALYZE fragment")


async def figures_counted(url: str) -> None:
    """Count every hour, and compute suggestions, as a running server would have before a page is opened."""
    async with Store(url, size=2) as store:
        while await compute_due(store, datetime.now(UTC)):
            pass
        while True:
            async with store.writing() as connection:
                if await hourly.fill_next(connection, now=datetime.now(UTC)) is None:
                    return
