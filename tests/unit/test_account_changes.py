"""What differs between two versions of an account, and what of it is dangerous."""

from __future__ import annotations

import pytest

from review.accounts.account_changes import dangers, difference
from review.accounts.rule_texts import Draft
from review.accounts.rule_trial import pieces
from tests.unit.samples import account
from worker.model import FailurePolicy
from worker.rules import Level, compile_rules, validate_rules


def test_rules_are_compared_as_bags_and_settings_one_by_one() -> None:
    """A rule that moved is no change of rules; a mapping says which of its entries changed."""
    before = account(flagged_keywords=("a", "b", "b"), moderation_thresholds={"hate": 0.5, "sexual": 0.2})
    after = account(flagged_keywords=("b", "a", "c"), moderation_thresholds={"hate": 0.5, "violence": 1.0})
    found = difference(before, after)

    assert [(each.added, each.removed) for each in found.rules] == [(("c",), ("b",))]
    assert [(each.title, each.before, each.after) for each in found.settings] == [
        ("Moderation thresholds: sexual", "0.2", "nothing"),
        ("Moderation thresholds: violence", "nothing", "1"),
    ]
    assert (found.added, found.removed) == (1, 1)


def test_an_order_that_changed_is_named_without_rules() -> None:
    """Nothing was added or removed, and yet the versions differ."""
    found = difference(account(flagged_phrases=("x", "y")), account(flagged_phrases=("y", "x")))

    assert [(each.title, each.added_count, each.removed_count) for each in found.rules] == [("Phrases", 0, 0)]


def test_instructions_are_compared_line_by_line() -> None:
    """With the lines around."""
    found = difference(account(prompt="one\ntwo\nthree"), account(prompt="one\n2\nthree"))

    assert found.settings[0].lines[1:] == ((" ", "one"), ("-", "two"), ("+", "2"), (" ", "three"))


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ({}, {"ai_enabled_for_comments": True}, "AI is switched on"),
        ({}, {"moderation_failure": FailurePolicy.ALLOW}, "without having been moderated"),
        ({}, {"moderation_thresholds": {"hate": 0.9}}, "more gets through"),
        ({}, {"moderation_thresholds": {"hate": 0.1}}, "more messages stay silent"),
        ({"moderation_thresholds": {"hate": 0.1}}, {}, "the API's own flag counts"),
        ({"rules_on_reply": True}, {"rules_on_reply": False}, "not tested by the account's rules"),
        ({}, {"assessment_policy": {"enabled": False}}, "without being assessed"),
    ],
)
def test_what_is_dangerous_is_said(before: dict[str, object], after: dict[str, object], said: str) -> None:
    """In a sentence; the way back says nothing of the kind."""
    off = {"ai_enabled_for_comments": False}
    found = dangers(account(**off | before), account(**off | after))

    assert [each for each in found if said in each] == list(found)
    assert len(found) == 1


def test_overlapping_hits_are_cut_so_that_every_mark_has_its_numbers() -> None:
    """The pieces are the text again."""
    text = "please buy viagra now"
    hits = compile_rules(["viagra"], ["buy viagra"], version=1, level=Level.DEFAULT).match(text)
    found = pieces(text, hits)

    assert "".join(piece.text for piece in found) == text
    assert [(piece.text, len(piece.numbers)) for piece in found] == [
        ("please ", 0),
        ("buy ", 1),
        ("viagra", 2),
        (" now", 0),
    ]


def test_a_problem_stands_at_the_line_of_its_rule_among_empty_lines() -> None:
    """Also the second of two equal rules, and one of another list."""
    texts = {"flagged_keywords": "\nspam\r\n\r\nspam", "flagged_phrases": " \nok then\n/[/", "allowed": "x"}
    draft = Draft(version=1, texts=texts)
    lists = draft.changes(account())
    problems = validate_rules(lists["flagged_keywords"], lists["flagged_phrases"], allow=lists["allowed"])
    found = draft.remarks(account(), problems)

    assert [(each.level, each.title, each.line) for each in found] == [
        ("error", "Phrases", 3),
        ("warning", "Keywords", 4),
        ("warning", "Allowed texts", 1),
    ]


def test_added_lines_and_ticks_change_a_long_list() -> None:
    """Removed by text, so that they mean the same on another version; added at the end."""
    stored = account(flagged_keywords=("a1", "b2", "c3"))
    draft = Draft(
        version=1,
        whole=False,
        texts={"flagged_keywords": "d4\n/[/", "flagged_phrases": "", "allowed": ""},
        removed={"flagged_keywords": frozenset({"b2"})},
    )
    lists = draft.changes(stored)
    remarks = draft.remarks(stored, validate_rules(lists["flagged_keywords"]))

    assert lists["flagged_keywords"] == ["a1", "c3", "d4", "/[/"]
    assert [each.line for each in remarks if each.level == "error"] == [2]
