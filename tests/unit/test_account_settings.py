"""The edge where people change an account, and what its settings page tells."""

from __future__ import annotations

from typing import Any

import pytest

from review.accounts import settings_form
from tests.unit.samples import account
from worker.account_settings import AccountRejected, changed
from worker.model import FailurePolicy


def test_what_is_not_named_stays() -> None:
    """And the version is still the one it came from."""
    before = account(flagged_keywords=("spam",), fallback_texts={"en": "Soon."})
    after = changed(before, {"moderation_failure": "allow", "moderation_thresholds": {"hate": 1}})

    assert after.flagged_keywords == ("spam",)
    assert after.fallback_texts == {"en": "Soon."}
    assert after.moderation_failure is FailurePolicy.ALLOW
    assert after.moderation_thresholds == {"hate": 1.0}
    assert (after.version, after.user_id) == (3, "acme")


def test_no_change_is_the_same_account() -> None:
    """So that setting things up twice stores nothing new."""
    assert changed(account(languages=("en",)), {}) == account(languages=("en",))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"nonsense": 1}, "nonsense: there is no such setting, got 1"),
        ({"version": 9}, "version: there is no"),
        ({"user_id": "else"}, "user_id: there is no"),
        ({"ai_control_enabled": "yes"}, 'ai_control_enabled: expected a valid boolean, got "yes"'),
        ({"flagged_keywords": "spam"}, 'flagged_keywords: expected a valid list, got "spam"'),
        ({"flagged_keywords": [""]}, "flagged_keywords.0: expected to have at least 1 character"),
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
        ({"languages": ["English"]}, "languages.0: expected to match pattern"),
        ({"prompt": "a\x00"}, "prompt: "),
        ({"fallback_texts": {"en": "a\x00"}}, "fallback_texts.en: "),
        ({"fallback_texts": {"en-GB": "a"}}, "fallback_texts"),
        ({"assessment_policy": {"name": "astrology"}}, "assessment_policy: "),
        ({"assessment_policy": {"name": "guardrail", "fallbackMessage": "a\x00"}}, "assessment_policy: "),
    ],
)
def test_a_bad_value_is_named_with_what_came(changes: dict[str, Any], said: str) -> None:
    """Nothing of it is stored."""
    with pytest.raises(AccountRejected) as caught:
        changed(account(), changes)

    assert said in str(caught.value)


def test_all_problems_are_named_at_once() -> None:
    """One line each."""
    with pytest.raises(AccountRejected) as caught:
        changed(account(), {"hold_max_s": -1, "prompt": 7, "colour": "red"})

    assert {line.split(":")[0] for line in str(caught.value).splitlines()} == {
        "hold_max_s",
        "prompt",
        "colour",
    }


def test_a_backslash_before_u0000_is_no_nul() -> None:
    """Only the character itself is refused."""
    policy = {"name": "guardrail", "fallbackMessage": r"C:\u0000"}

    assert changed(account(), {"assessment_policy": policy}).assessment_policy == policy


def test_what_is_in_force_tells_thresholds_and_no_coefficients() -> None:
    """Of the built-in model an account's owner sees which one it is and where its thresholds lie."""
    names = [name for name, _ in settings_form.effective(account())]

    assert {"model.version", "model.kinds.question.send_at", "low_action"} <= set(names)
    assert not [
        name for name in names if "weights" in name or "intercept" in name or name.startswith("model.record")
    ]
