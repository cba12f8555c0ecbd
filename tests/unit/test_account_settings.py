"""The declarations of the account settings, the checks of a change, and the form and list made from them."""

from __future__ import annotations

import pickle
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from pydantic.fields import FieldInfo

from cli.accounts import settings_reference
from review.accounts.policy_fields import options_of
from review.accounts.setting_fields import FIELDS
from review.accounts.typed_parts import number_of
from tests.support.samples import account
from worker.account_settings import RULES, SETTINGS, AccountRejected, AccountSettings, changed, kind_of
from worker.assessment import Delivery
from worker.assessment.policies.designs import DESIGNS
from worker.model import (
    Account,
    BudgetAction,
    Combination,
    FailurePolicy,
    ReplyMode,
    RuleLevel,
    Shedding,
    StaleReply,
)
from worker.setting_description import SettingKind

ROOT = Path(__file__).parents[2]


def test_a_setting_that_is_not_changed_stays() -> None:
    """The changed account has the version of the account it was made from."""
    before = account(flagged_keywords=("spam",), fallback_texts={"en": "Soon."})
    after = changed(before, {"moderation_failure": "allow", "moderation_thresholds": {"hate": 1}})

    assert after.flagged_keywords == ("spam",)
    assert after.fallback_texts == {"en": "Soon."}
    assert after.moderation_failure is FailurePolicy.ALLOW
    assert after.moderation_thresholds == {"hate": 1.0}
    assert (after.version, after.user_id) == (3, "acme")


@pytest.mark.parametrize("name", ["*", ".", " ", "acme ", "ac\nme", "", "a" * 256])
def test_an_impossible_account_name_is_rejected(name: str) -> None:
    """`*`, which means every account, is no name of an account."""
    with pytest.raises(AccountRejected, match=r"user_id: expected an account's name"):
        changed(account(user_id=name), {})


def test_no_change_gives_an_equal_account() -> None:
    """A set-up that runs twice stores one version."""
    assert changed(account(languages=("en",)), {}) == account(languages=("en",))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"nonsense": 1}, "nonsense: there is no such setting, got 1"),
        ({"buisness_hours": 1}, "there is no such setting (business_hours is one), got 1"),
        ({"version": 9}, "version: there is no"),
        ({"user_id": "else"}, "user_id: there is no"),
        ({"ai_control_enabled": "yes"}, 'ai_control_enabled: expected a valid boolean, got "yes"'),
        ({"flagged_keywords": "spam"}, 'flagged_keywords: expected a valid list, got "spam"'),
        ({"flagged_keywords": [""]}, "flagged_keywords.0: expected at least 1 character"),
        ({"flagged_keywords": ["a\x00"]}, r'got "a\u0000"'),
        ({"flagged_phrases": ["x" * 1001]}, "flagged_phrases.0: "),
        ({"moderation_thresholds": {"hate": 1.5}}, "moderation_thresholds.hate: "),
        (
            {"moderation_thresholds": {"hate": "1"}},
            'moderation_thresholds.hate: expected a valid number, got "1"',
        ),
        ({"moderation_thresholds": {"hate": float("nan")}}, "moderation_thresholds.hate: "),
        ({"moderation_thresholds": {"": 0.5}}, "moderation_thresholds"),
        (
            {"moderation_failure": "pray"},
            "moderation_failure: expected 'hold', 'block' or 'allow', got \"pray\"",
        ),
        ({"hold_max_s": -1}, "hold_max_s: expected greater than or equal to 0, got -1"),
        ({"hold_max_s": float("inf")}, "hold_max_s: "),
        ({"reply_max_age_s": 1e9}, "reply_max_age_s: "),
        ({"languages": ["English"]}, "languages.0: expected a text of the pattern"),
        ({"languages": ["vn"]}, "languages.0: expected a language code such as en or de"),
        ({"prompt": "a\x00"}, "prompt: "),
        ({"fallback_texts": {"en": "a\x00"}}, "fallback_texts.en: "),
        ({"fallback_texts": {"en-GB": "a"}}, "fallback_texts"),
        ({"disclosure_texts": {"en": " "}}, "disclosure_texts.en: "),
        ({"disclosure_texts": {"en": "a" * 1001}}, "disclosure_texts.en: "),
        ({"handoff_texts": {"en": ""}}, "handoff_texts.en: "),
        (
            {"escalation_actions": {"REPLIED": "escalate"}},
            "escalation_actions: expected matched rules such as",
        ),
        (
            {"escalation_actions": {"TOO_LATE": "escalate"}},
            "escalation_actions: expected matched rules such as",
        ),
        (
            {"escalation_actions": {"NO_ANSWER": "shout"}},
            "escalation_actions.NO_ANSWER: expected 'escalate' or",
        ),
        ({"auto_reasons": ["SILENCE"]}, "auto_reasons.0: expected one of"),
        ({"auto_reasons": ["HELD_FOR_APPROVAL"]}, "auto_reasons.0: expected one of"),
        ({"escalation_queues": {"NO_SUCH": "a"}}, "escalation_queues: expected reason codes"),
        ({"escalation_queues": {"*": " "}}, "escalation_queues"),
        ({"escalation_queues": {"*": "a=b"}}, "escalation_queues"),
        ({"time_zone": "Mars/Base"}, "time_zone: expected an IANA time zone"),
        ({"time_zone": "Europe"}, "time_zone: expected an IANA time zone"),
        ({"time_zone": "../etc/passwd"}, "time_zone: expected an IANA time zone"),
        ({"business_hours": {"monday": "09:00-17:00"}}, "business_hours.monday"),
        ({"business_hours": {"mon": "9-17"}}, "business_hours.mon: expected ranges such as"),
        ({"business_hours": {"mon": "17:00-09:00"}}, "business_hours.mon: expected ranges such as"),
        ({"business_hours": {"mon": "09:00-12:00, 11:00-13:00"}}, "business_hours.mon: expected ranges such"),
        ({"business_hours": {"mon": "09:00-24:30"}}, "business_hours.mon: expected ranges such as"),
        ({"holidays": ["2026-02-30"]}, "holidays.0: expected a date such as"),
        ({"assessment_policy": {"name": "astrology"}}, "assessment_policy: "),
        ({"assessment_policy": {"name": "guardrail", "fallbackMessage": "a\x00"}}, "assessment_policy: "),
    ],
)
def test_a_bad_value_is_rejected_with_its_place_and_expectation(changes: dict[str, Any], said: str) -> None:
    """The message has the place, the expectation and the value."""
    with pytest.raises(AccountRejected) as caught:
        changed(account(), changes)

    assert said in str(caught.value)


def test_all_problems_are_reported_together() -> None:
    """Each problem has one line."""
    with pytest.raises(AccountRejected) as caught:
        changed(account(), {"hold_max_s": -1, "prompt": 7, "colour": "red"})

    assert {line.split(":")[0] for line in str(caught.value).splitlines()} == {
        "hold_max_s",
        "prompt",
        "colour",
    }


def test_an_escaped_backslash_before_u0000_is_no_nul() -> None:
    """Only the NUL character is rejected."""
    policy = {"name": "guardrail", "fallbackMessage": r"C:\u0000"}

    assert changed(account(), {"assessment_policy": policy}).assessment_policy == policy


def test_an_option_is_typed_alike_in_every_design() -> None:
    """Its text stays when another design is chosen: 0.5 of one must not become 0.5 % of the other."""
    options = [each for design in DESIGNS for each in options_of(design)]

    assert len({(each.path, each.shape) for each in options}) == len({each.path for each in options})


@pytest.mark.parametrize("design", DESIGNS)
def test_every_option_of_a_policy_has_help_and_a_field(design: str) -> None:
    """What JSON can set, the form can set: the options of the design and of its delivery."""
    declared = DESIGNS[design]
    names = {each.name for of in (declared.settings, Delivery) for each in fields(of)}
    shown = {each.path for each in options_of(design) if "." not in each.path}

    assert shown == names - {"version", *declared.set_in_code}


def test_the_declarations_are_the_fields_of_an_account() -> None:
    """Every field of `Account` but name and version is a setting, in the same order."""
    names = [each.name for each in fields(Account)]

    assert ["user_id", "version", *SETTINGS] == names


def test_a_setting_may_be_a_whole_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Form and list treat it as a number; the form gives an int, which settings of either type accept."""
    monkeypatch.setitem(AccountSettings.model_fields, "limit", FieldInfo(annotation=int))
    errors: dict[str, str] = {}
    shape = {"type": "integer", "minimum": 1, "maximum": 9}

    assert kind_of("limit") is SettingKind.NUMBER
    assert settings_reference._value_words(shape, {}) == "whole number from 1 to 9"
    assert [repr(number_of(text, "", errors.__setitem__)) for text in ("9", "9.5")] == ["9", "9.5"]
    number_of("inf", "limit", errors.__setitem__)
    assert errors == {"limit": "Write a number, not “inf”."}


def test_every_choice_is_explained() -> None:
    """A setting with a closed set of values has a meaning for each value."""
    known = {
        "rule_level": list(RuleLevel),
        "moderation_failure": list(FailurePolicy),
        "moderation_combination": list(Combination),
        "shedding": list(Shedding),
        "stale_reply": list(StaleReply),
        "reply_mode": list(ReplyMode),
        "budget_action": list(BudgetAction),
    }
    explained = {name: list(each.choices) for name, each in SETTINGS.items() if each.choices}

    assert explained == known
    assert set(known) == {name for name in SETTINGS if kind_of(name) is SettingKind.CHOICE}


def test_every_setting_but_the_rules_has_fields() -> None:
    """The form is made from the declaration; rules have a page of their own."""
    assert set(FIELDS) == set(SETTINGS) - set(RULES)


def test_the_page_of_settings_is_current() -> None:
    """`make schema` writes docs/settings.md."""
    assert (ROOT / "docs" / "settings.md").read_text() == settings_reference.as_markdown()


def test_a_refusal_of_settings_crosses_processes() -> None:
    """A child process of a backtest may raise it."""
    refused = AccountRejected([("hold_max_s", "expected a number, got 'x'")])
    found = pickle.loads(pickle.dumps(refused))

    assert (found.problems, str(found)) == (refused.problems, str(refused))
