"""Every place that tests a text with the rules of an account uses the account's level."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from review.accounts.rule_matches import compiled_rules, problems_of, try_messages, try_text
from trials.pure.suggestions.model import SeenMessage
from trials.pure.suggestions.rules import rule_suggestions
from trials.pure.suggestions.words import word_suggestions
from worker.account_settings import rule_problems
from worker.model import Account, RuleLevel
from worker.rules import compile_account_rules

START = datetime(2026, 11, 1, tzinfo=UTC)
MASKED = "you f*cker"
"""The strict level reads the masked letter, the default level does not."""
DEFAULT = Account(user_id="shop", version=3, flagged_keywords=("fucker",))
STRICT = replace(DEFAULT, rule_level=RuleLevel.STRICT)


def seen(number: int, text: str, ruling: str = "", rule: str = "") -> SeenMessage:
    """A message of an author of its own."""
    return SeenMessage(
        decision_id=UUID(int=number), decided_at=START + timedelta(minutes=number), text=text,
        author=f"a{number}", rule=rule, ruling=ruling,
    )  # fmt: skip


def test_compiled_rules_have_the_version_and_the_level_of_the_account() -> None:
    """Two accounts with the same words and two levels match differently."""
    found = [compile_account_rules(each) for each in (DEFAULT, STRICT)]

    assert [(each.version, each.level) for each in found] == [(3, RuleLevel.DEFAULT), (3, RuleLevel.STRICT)]
    assert [bool(each.match(MASKED)) for each in found] == [False, True]


@pytest.mark.parametrize(("account", "hits"), [(DEFAULT, 0), (STRICT, 1)])
async def test_people_test_texts_at_the_level_of_the_account(account: Account, hits: int) -> None:
    """A person's answer, a text of the rule page and recent messages, as workers test them."""
    rows = [{"id": UUID(int=1), "message_text": MASKED, "matched_rule": None, "findings": []}]
    recent = await try_messages(account, rows, ())
    tried = await try_text(account, MASKED)

    assert len((await compiled_rules(account)).match(MASKED)) == hits
    assert recent.matched == hits
    assert (len(tried.hits), tried.level) == (hits, account.rule_level)


@pytest.mark.parametrize(("account", "codes"), [(DEFAULT, []), (STRICT, ["fires_often"])])
async def test_a_rule_that_fires_often_is_found_at_the_level_of_the_account(
    account: Account, codes: list[str]
) -> None:
    """The page and the command line agree."""
    recent = [MASKED] * 20

    assert [each.code for each in rule_problems(account, recent)] == codes
    assert [each.code for each in await problems_of(account, recent)] == codes


@pytest.mark.parametrize(("account", "suggested"), [(DEFAULT, True), (STRICT, False)])
def test_words_are_suggested_for_messages_that_the_level_does_not_stop(
    account: Account, *, suggested: bool
) -> None:
    """A message that a rule stops at the account's level needs no further word."""
    missed = [seen(number, f"{MASKED} wire", "overturn") for number in range(1, 7)]
    sent = [seen(number, "hello there friend", "agree") for number in range(10, 40)]

    assert bool(word_suggestions(account, missed, sent)) == suggested


@pytest.mark.parametrize(("account", "suggested"), [(DEFAULT, True), (STRICT, False)])
def test_a_narrowed_rule_releases_what_the_level_does_not_stop(account: Account, *, suggested: bool) -> None:
    """The other keyword stops these messages too, at the strict level only."""
    account = replace(account, flagged_keywords=("shoot", "fucker"))
    rule = "flagged_keyword:shoot"
    texts = [f"f*cker {word} photo shoot" for word in ("monday", "tuesday", "friday")]
    reviewed = [seen(number, text, "overturn", rule) for number, text in enumerate(texts)]
    reviewed += [seen(9, "I will shoot you", "agree", rule)]

    assert bool(rule_suggestions(account, reviewed)) == suggested
