"""Accounts as stored: rows as a worker reads them, differences between two versions, and their risks."""

from __future__ import annotations

from dataclasses import asdict, replace

import pytest
import structlog

from db.account_settings.accounts import FALLBACKS, account_from_row
from review.accounts.account_changes import change_warnings, difference
from review.accounts.rule_texts import RuleEdit
from review.languages import gettext
from review.languages.reader import NO_READER, answer_in
from tests.support.samples import account
from worker.model import Combination, FailurePolicy, ModeratorChoice, ReplyMode
from worker.rules import validate_rules

HOUSE = ModeratorChoice(name="house", endpoint="guard", policy="No insults.\nNo threats.")


def test_rules_are_compared_as_bags_and_settings_one_by_one() -> None:
    """A moved rule is no change; of a mapping, the changed entries are listed."""
    before = account(flagged_keywords=("a", "b", "b"), moderation_thresholds={"hate": 0.5, "sexual": 0.2})
    after = account(flagged_keywords=("b", "a", "c"), moderation_thresholds={"hate": 0.5, "violence": 1.0})
    found = difference(before, after)

    assert [(each.added, each.removed) for each in found.rules] == [(("c",), ("b",))]
    assert [(each.name, each.before, each.after) for each in found.settings] == [
        ("Moderation thresholds: sexual", "20 %", "not set"),
        ("Moderation thresholds: violence", "not set", "100 %"),
    ]
    assert (found.added, found.removed) == (1, 1)


def test_an_option_of_a_policy_is_named_as_on_the_form() -> None:
    """By its help, not by its field; in percent, with the default that counts while it is not set."""
    found = difference(account(), account(assessment_policy={"send_at": 0.7, "gate": False}))

    assert [(each.title, each.before, each.after) for each in found.settings] == [
        ("Lowest confidence that is sent.", "default: 50 %", "70 %"),
        ("Small talk and clarifying questions pass without a check of facts.", "default: yes", "no"),
    ]


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        ("en", [("Oldest message answered", "5 minutes", "1 day"), ("Mask personal data", "no", "yes")]),
        (
            "vi",
            [("Tin nhắn cũ nhất được trả lời", "5 phút", "1 ngày"), ("Che dữ liệu cá nhân", "không", "có")],
        ),
    ],
)
def test_a_change_is_in_the_language_of_the_reader(
    language: str, expected: list[tuple[str, str, str]]
) -> None:
    """With the number's plural form; the title is translated where it is shown."""
    answer_in(replace(NO_READER, language=language))
    before, after = account(reply_max_age_s=300), account(reply_max_age_s=86_400, mask_personal_data=True)
    found = difference(before, after)
    shown = [(gettext(each.title), each.before, each.after) for each in found.settings]
    answer_in(NO_READER)

    assert set(shown) == set(expected)


def test_a_changed_order_lists_no_rules() -> None:
    """The versions differ, with nothing added and nothing removed."""
    found = difference(account(flagged_phrases=("x", "y")), account(flagged_phrases=("y", "x")))

    assert [(each.title, each.added_count, each.removed_count) for each in found.rules] == [("Phrases", 0, 0)]


def test_instructions_are_compared_line_by_line() -> None:
    """The difference includes the lines around a changed line."""
    found = difference(account(prompt="one\ntwo\nthree"), account(prompt="one\n2\nthree"))

    assert found.settings[0].lines[1:] == ((" ", "one"), ("-", "two"), ("+", "2"), (" ", "three"))


def test_moderators_are_compared_part_by_part() -> None:
    """Each part is a line with its moderator's number and its title, a policy one a line."""
    after = replace(HOUSE, policy="No insults.\nNo spam.", failure=FailurePolicy.BLOCK, thresholds={"x": 0.5})
    (found,) = difference(account(moderators=(HOUSE,)), account(moderators=(after,))).settings

    assert [line for sign, line in found.lines if sign == "-"] == ["1. Policy: No threats."]
    assert [line for sign, line in found.lines if sign == "+"] == [
        "1. When it is down: block",
        "1. Thresholds of a classifier: x = 0.5",
        "1. Policy: No spam.",
    ]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({}, {"ai_enabled_for_comments": True}, "AI is switched on"),
        ({}, {"moderation_failure": FailurePolicy.ALLOW}, "answered without moderation"),
        ({}, {"moderators": (HOUSE,)}, "Images are no longer moderated"),
        ({"moderators": (HOUSE,)}, {"moderators": ()}, "house no longer moderates"),
        (
            {"moderators": (HOUSE,)},
            {"moderators": (replace(HOUSE, failure=FailurePolicy.ALLOW),)},
            "While house is down, messages are answered without its result.",
        ),
        ({}, {"moderation_combination": Combination.ALL}, "A text that one moderator flags may pass"),
        ({}, {"moderation_thresholds": {"hate": 0.9}}, "more messages pass"),
        ({}, {"moderation_thresholds": {"hate": 0.1}}, "more messages get no reply"),
        ({"moderation_thresholds": {"hate": 0.1}}, {}, "the API's own flag decides"),
        ({"rules_on_reply": True}, {"rules_on_reply": False}, "no longer test replies"),
        ({}, {"assessment_policy": {"enabled": False}}, "without an assessment"),
    ],
)
def test_a_riskier_value_has_one_warning(
    before: dict[str, object], after: dict[str, object], expected: str
) -> None:
    """Each change that adds a risk gives one sentence."""
    off = {"ai_enabled_for_comments": False}
    found = change_warnings(account(**off | before), account(**off | after))

    assert [each for each in found if expected in each] == list(found)
    assert len(found) == 1


def test_a_warning_is_in_the_language_of_the_reader() -> None:
    """With the words of the category."""
    answer_in(replace(NO_READER, language="vi"))
    found = change_warnings(account(), account(moderation_thresholds={"violence": 0.9}))
    answer_in(NO_READER)

    assert found == ("bạo lực: chỉ chặn điểm từ 0.9 trở lên, nên nhiều tin nhắn hơn được qua.",)


def test_a_choice_is_shown_by_its_meaning() -> None:
    """Not by the value that is stored."""
    (found,) = difference(account(), account(reply_mode=ReplyMode.SUGGEST)).settings

    assert (found.before, found.after) == (
        "are sent at once when they are trusted",
        "wait until a person approves, edits or replaces them",
    )


def test_a_problem_has_the_line_of_its_rule_with_empty_lines_counted() -> None:
    """The second of two equal rules and a rule of another list have their own lines."""
    texts = {"flagged_keywords": "\nspam\r\n\r\nspam", "flagged_phrases": " \nok then\n/[/", "allowed": "x"}
    edit = RuleEdit(version=1, texts=texts)
    lists = edit.changes(account())
    problems = validate_rules(lists["flagged_keywords"], lists["flagged_phrases"], allow=lists["allowed"])
    found = edit.remarks(account(), problems)

    assert [(each.level, each.title, each.line) for each in found] == [
        ("error", "Phrases", 3),
        ("warning", "Keywords", 4),
        ("warning", "Allowed texts", 1),
    ]


def test_added_lines_and_ticked_rules_change_a_long_list() -> None:
    """A ticked rule is removed by its text, in whichever version; new lines are added at the end."""
    stored = account(flagged_keywords=("a1", "b2", "c3"))
    edit = RuleEdit(
        version=1,
        complete=False,
        texts={"flagged_keywords": "d4\n/[/", "flagged_phrases": "", "allowed": ""},
        removed={"flagged_keywords": frozenset({"b2"})},
    )
    lists = edit.changes(stored)
    remarks = edit.remarks(stored, validate_rules(lists["flagged_keywords"]))

    assert lists["flagged_keywords"] == ["a1", "c3", "d4", "/[/"]
    assert [each.line for each in remarks if each.level == "error"] == [2]


@pytest.mark.parametrize("setting", list(FALLBACKS))
def test_a_value_of_a_newer_release_is_read_as_the_strict_one(setting: str) -> None:
    """After a rollback no event becomes a dead letter, and the log names the setting."""
    with structlog.testing.capture_logs() as lines:
        found = account_from_row(asdict(account()) | {setting: "cheapest_first"})

    assert getattr(found, setting) is FALLBACKS[setting]
    assert [(line["event"], line["setting"]) for line in lines] == [("setting_of_newer_release", setting)]


def test_the_failure_policy_of_a_moderator_is_read_as_strictly() -> None:
    """A moderator whose failure policy is unknown holds."""
    stored = [{"name": "own", "endpoint": "own", "failure": "ask_a_friend"}]
    found = account_from_row(asdict(account()) | {"moderators": stored})

    assert found.moderators[0].failure == "hold"
