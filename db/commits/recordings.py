"""The recording of a decision, written in its commit; workers cannot read it again."""

from __future__ import annotations

import base64
from typing import Final

from worker.model import Decision

RECORD: Final = """
    INSERT INTO recordings (decision_id, user_id, conversation_id, author_id, created_at, overtaken, data)
    SELECT %(id)s, key.user_id, %(conversation_id)s, %(author_id)s, %(created_at)s, %(overtaken)s,
        decode(%(recording)s::text, 'base64')
    FROM key WHERE %(recording)s::text IS NOT NULL"""
"""A part of the decision's commit."""


def recording_text(decision: Decision) -> str | None:
    """The recording as the commit takes it."""
    return None if decision.recording is None else base64.b64encode(decision.recording).decode()
