"""The part of a decision's commit that counts its cost.

It adds only where the commit has stored the decision's key, in the same statement: each decision counts once.
"""

from __future__ import annotations

from typing import Any, Final

import orjson

from worker.model import BudgetPeriod, Decision

SLOTS: Final = 8
"""Rows of each account, period, purpose and model: commits of one account rarely wait for each other."""

STORE_LEDGER: Final = """, ledger AS (
    INSERT INTO account_costs AS c (user_id, grain, start, purpose, model, slot, decisions, prompt_tokens,
        completion_tokens, nano_usd, unpriced_tokens)
    SELECT key.user_id, n.grain, n.start, n.purpose, n.model, n.slot, count(*), sum(n.prompt_tokens),
        sum(n.completion_tokens), sum(n.nano_usd), sum(n.unpriced_tokens)
    FROM key, jsonb_to_recordset(%(costs)s::jsonb) AS n (
        grain text, start date, purpose text, model text, slot smallint, prompt_tokens bigint,
        completion_tokens bigint, nano_usd bigint, unpriced_tokens bigint)
    GROUP BY key.user_id, n.grain, n.start, n.purpose, n.model, n.slot
    ORDER BY key.user_id, n.grain, n.start, n.purpose, n.model, n.slot
    ON CONFLICT (user_id, grain, start, purpose, model, slot) DO UPDATE SET
        decisions = c.decisions + excluded.decisions,
        prompt_tokens = c.prompt_tokens + excluded.prompt_tokens,
        completion_tokens = c.completion_tokens + excluded.completion_tokens,
        nano_usd = c.nano_usd + excluded.nano_usd,
        unpriced_tokens = c.unpriced_tokens + excluded.unpriced_tokens
)"""
"""The rows are locked in one order, so two commits never wait for each other in a circle.

A commit of several events adds up what they cost: a statement may change a row once only.
"""


def ledger_rows(decision: Decision) -> list[dict[str, Any]]:
    """What a decision adds, one row for each period, purpose and model."""
    day, slot = decision.decided_at.date(), decision.decision_id.int % SLOTS
    return [
        {
            "grain": period.value,
            "start": period.start(day).isoformat(),
            "purpose": line.purpose,
            "model": line.model,
            "slot": slot,
            "prompt_tokens": line.tokens.prompt,
            "completion_tokens": line.tokens.completion,
            "nano_usd": line.nano_usd or 0,
            "unpriced_tokens": 0
            if line.nano_usd is not None
            else line.tokens.prompt + line.tokens.completion,
        }
        for period in BudgetPeriod
        for line in decision.costs
    ]


def ledger_json(decision: Decision) -> str | None:
    """The rows as the commit takes them; None for a decision that cost nothing."""
    return orjson.dumps(ledger_rows(decision)).decode() if decision.costs else None
