"""Rule hits as findings of a stage."""

from __future__ import annotations

from typing import Final

from worker.model import UNKNOWN_AUTHOR, Author, Finding, Severity, Span, Stage
from worker.rules.compiled import CompiledRules

MOST_FINDINGS: Final = 20


def rule_findings(
    rules: CompiledRules, text: str, *, stage: Stage, author: Author = UNKNOWN_AUTHOR
) -> tuple[Finding, ...]:
    """The hits in a text as findings, in text order, at most 20."""
    hits = sorted(rules.match(text, author), key=lambda hit: (hit.start, -hit.end))
    return tuple(
        Finding(
            stage=stage,
            code=f"flagged_{hit.kind}",
            severity=Severity.BLOCK,
            matched_rule=hit.label,
            evidence=f"Flagged {hit.kind} detected: {hit.rule!r} ({hit.how})"[:300],
            how=str(hit.how),
            span=Span(start=hit.start, end=hit.end) if hit.end else None,
        )
        for hit in hits[:MOST_FINDINGS]
    )
