"""Conditions about the author beside a rule, and alone."""

from __future__ import annotations

import pytest

from tests.support.samples import account, event
from tests.unit.test_pipeline import World
from worker.errors import RuleRejected
from worker.model import UNKNOWN_AUTHOR, Author, ConversationState
from worker.reasons import Reason
from worker.rules import RuleKind, compile_rules, parse_rule, validate_rules
from worker.rules.compiled import CompiledRules
from worker.rules.formats import RuleListFormat, read_rules, write_rules
from worker.steps.run import EventCase, pinned_settings

REPEAT = Author(strikes=2, messages_1h=30, role="Guest", account_age_days=3)


def matched(rule: str, author: Author | None, text: str = "cheap spam here", *, allow: str = "") -> bool:
    compiled = compile_rules([rule], allow=[allow] if allow else [], version=1)
    return bool(CompiledRules.from_bytes(compiled.to_bytes()).match(text, author))


@pytest.mark.parametrize(
    ("rule", "holds"),
    [
        ("spam {author.strikes >= 2}", True),
        ("spam {author.strikes>2}", False),
        ("spam {author.messages_1h > 20, author.account_age_days < 7}", True),
        ("spam {author.messages_1h > 20, author.account_age_days < 2.5}", False),
        ("spam {author.role = guest}", True),
        ("spam {author.role != moderator, case}", True),
        ("Spam {case, author.role = guest}", False),
        ("/sp.m/ {author.strikes = 2}", True),
        ("~casino {author.strikes = 2}", False),
        ("{author.strikes >= 2}", True),
        ("{author.strikes >= 3}", False),
        ("{author.role != guest}", False),
    ],
)
def test_a_rule_counts_only_for_authors_who_meet_its_conditions(rule: str, *, holds: bool) -> None:
    """All of them; a fact that is not known meets none."""
    assert matched(rule, REPEAT) is holds
    assert not matched(rule, UNKNOWN_AUTHOR)


def test_rules_are_tried_without_an_author() -> None:
    """A condition beside a text counts as met, one alone matches nothing, an allowed text cancels nothing."""
    assert matched("spam {author.strikes >= 2}", None)
    assert not matched("{author.strikes >= 2}", None)
    assert matched("spam", None, allow="cheap spam {author.role = moderator}")


def test_an_allowed_author_has_no_hits() -> None:
    """Of that text, or at all."""
    moderator = Author(role="moderator")

    assert not matched("spam", moderator, allow="{author.role = moderator}")
    assert not matched("spam", moderator, allow="cheap spam {author.role = moderator}")
    assert matched("spam", REPEAT, allow="{author.role = moderator}")


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("spam {author.strikes => 2}", "expected a condition author.FIELD"),
        ("spam {author.strikes}", "expected a condition author.FIELD"),
        ("spam {strikes >= 2}", "expected a condition author.FIELD"),
        ("{author.karma > 3}", "expected one of author.strikes, author.messages_1h"),
        ("{author.strikes >= many}", "author.strikes: expected a number from 0 to 1000, got 'many'"),
        ("{author.messages_1h >= 2000}", "author.messages_1h: expected a number from 0 to 1000, got '2000'"),
        ("{author.strikes >= -1}", "author.strikes: expected a number"),
        ("{author.strikes >= 1e9}", "author.strikes: expected a number"),
        ("{author.role > guest}", "author.role: expected = or != and a role"),
        ("spam {author.role = a, loud}", "unknown switch loud"),
        ("{}", "unknown switch {}"),
    ],
)
def test_a_wrong_condition_is_named(rule: str, message: str) -> None:
    """With what was expected and what came; saving such a rule is refused."""
    with pytest.raises(RuleRejected, match=message.replace("{", r"\{").replace(".", r"\.")):
        parse_rule(rule, RuleKind.KEYWORD)
    assert [each.code for each in validate_rules([rule])] == ["broken"]


def test_conditions_distinguish_rules() -> None:
    """The same word with other conditions is no duplicate, and does not shadow."""
    rules = ["spam {author.strikes >= 2}", "spam {author.role = guest}", "spam* {author.strikes = 1}", "spam"]

    assert validate_rules([*rules, "{author.strikes >= 3}"]) == ()
    assert [each.code for each in validate_rules([rules[0], rules[0].replace(" >= ", ">=")])] == ["duplicate"]


def test_other_tools_get_no_rule_that_would_hit_more() -> None:
    """Lists, CSV and JSON keep the conditions; AutoModerator gets comments, Discord nothing."""
    rules = read_rules("spam {author.strikes >= 2}\n{author.role = guest}\nplain", RuleListFormat.LIST)
    allowed = read_rules("{author.role = moderator} {allow}", RuleListFormat.LIST)

    for each in (RuleListFormat.LIST, RuleListFormat.CSV, RuleListFormat.JSON):
        assert read_rules(write_rules(rules, each), each) == rules
    assert allowed.allow == ("{author.role = moderator}",)
    assert write_rules(rules, RuleListFormat.DISCORD) == "plain\n"
    automoderator = write_rules(rules, RuleListFormat.AUTOMODERATOR)
    assert "# of authors: spam {author.strikes >= 2}\n" in automoderator
    assert "- spam" not in automoderator


def test_checks_of_authors_are_read_from_automoderator() -> None:
    """Age and moderators; a rule with another check is left out, as it would match everybody."""
    text = """
title+body: [spam, "cheap {case}"]
author: {account_age: "< 2 weeks", is_moderator: false}
---
author: {account_age: "< 1 day"}
---
body: [karma]
author: {combined_karma: "< 10"}
---
body (regex, case-sensitive): ['a.b']
author: {is_moderator: true}
"""
    found = read_rules(text, RuleListFormat.AUTOMODERATOR)
    condition = "author.account_age_days < 14, author.role != moderator"

    assert (*found.keywords, *found.phrases) == (
        f"spam {{{condition}}}",
        f"cheap {{case, {condition}}}",
        "{author.account_age_days < 1}",
        "/a.b/ {case, author.role = moderator}",
    )
    assert found.skipped == ("rule 3: the check of the author combined_karma has no counterpart",)


async def test_an_author_with_strikes_is_blocked_whatever_the_message() -> None:
    """The reply is not tested with such rules; an unknown author passes."""
    owner = account(flagged_keywords=("{author.strikes >= 2}",))
    settings = pinned_settings(owner, {})
    known = settings.case(event(), ConversationState(strikes=2, messages_1h=5))
    world = World()
    decision = await world.decide_case(known)
    other = await World().decide(owner=owner)

    assert settings.rules.counts_authors
    assert (decision.reason_code, decision.matched_rule) == (
        Reason.FLAGGED_RULE,
        "flagged_author:{author.strikes >= 2}",
    )
    assert decision.findings[0].span is None
    assert other.reason_code is Reason.REPLIED


@pytest.mark.parametrize(
    ("metadata", "author"),
    [
        ({"author": {"role": "guest", "account_age_days": 3}}, Author(role="guest", account_age_days=3)),
        ({"author": {"role": 3, "account_age_days": "new"}}, UNKNOWN_AUTHOR),
        ({"author": {"account_age_days": True}}, UNKNOWN_AUTHOR),
        ({"author": "guest"}, UNKNOWN_AUTHOR),
        ({}, UNKNOWN_AUTHOR),
    ],
)
def test_role_and_age_come_with_the_event(metadata: dict[str, object], author: Author) -> None:
    """Values of another kind say nothing."""
    case: EventCase = pinned_settings(account(), {}).case(event(metadata=metadata))

    assert case.author == author
