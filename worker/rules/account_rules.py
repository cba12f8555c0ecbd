"""The rules of an account: the settings that decide their matches, and the compiled set."""

from __future__ import annotations

from typing import TypeAlias

from worker.model import Account, Level
from worker.rules.compiled import CompiledRules
from worker.rules.compiler import compile_rules

RuleSettings: TypeAlias = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], Level]
"""Keywords, phrases, allowed texts and the level; accounts with equal ones match alike."""


def rule_settings(account: Account) -> RuleSettings:
    """The settings that decide what the rules of an account match."""
    return account.flagged_keywords, account.flagged_phrases, account.allowed, account.rule_level


def compile_account_rules(account: Account) -> CompiledRules:
    """The rules of an account at its version and its level."""
    return compile_rules(
        account.flagged_keywords,
        account.flagged_phrases,
        allow=account.allowed,
        version=account.version,
        level=account.rule_level,
    )
