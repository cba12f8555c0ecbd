"""Whether a passage may be shown to the model: the account's rules, then the check for instructions."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Final

from worker.injections import INJECTION_CHECK, find_injection
from worker.model import Account, Passage, ScreenedPassage, Stage
from worker.rules import CompiledRules
from worker.rules.findings import rule_findings

HASH_CHARS: Final = 16


def screened(passage: Passage, account: Account, rules: CompiledRules) -> ScreenedPassage | None:
    """The record of a passage that must not be shown, or None; checks that were released do not count."""
    text = screened_text(passage.title, passage.text)
    for check, evidence in _hits(text, account, rules):
        if check not in passage.released:
            return ScreenedPassage(
                passage_id=passage.passage_id,
                title=passage.title,
                text_hash=hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:HASH_CHARS],
                check=check,
                evidence=evidence,
            )
    return None


def passage_flags(title: str, text: str, account: Account, rules: CompiledRules) -> tuple[str, ...]:
    """The checks that a chunk fails, each once, as stored with the chunk."""
    return tuple(dict.fromkeys(check for check, _ in _hits(screened_text(title, text), account, rules)))


def screened_text(title: str, text: str) -> str:
    """Everything of a passage that the model reads."""
    return f"{title}\n{text}" if title else text


def _hits(text: str, account: Account, rules: CompiledRules) -> Iterator[tuple[str, str]]:
    """Check and evidence of each hit."""
    if account.rules_on_passages:
        for finding in rule_findings(rules, text, stage=Stage.RETRIEVAL):
            yield finding.matched_rule, finding.evidence
    if account.injection_check and (found := find_injection(text)) is not None:
        for kind in found.kinds:
            yield f"{INJECTION_CHECK}:{kind}", found.evidence
