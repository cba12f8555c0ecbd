"""The settings page: errors at their fields, review of the changes, storing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

import pytest

from db.people.records import Role
from review.accounts import mapping_fields, settings_form
from tests.integration.test_rule_pages import in_force, logged, store
from tests.support.reviewing import Visitor, add_person, site
from worker.model import Account, Combination, FailurePolicy, ModeratorChoice

NUMBERS = count(1)


@pytest.fixture(scope="module")
def visitor(database_url: str) -> Iterator[Callable[[], Visitor]]:
    """Visitors of one running site."""
    with site(database_url) as running:
        yield running


@pytest.fixture
def account() -> str:
    """An account without settings."""
    return f"set-{next(NUMBERS)}"


@pytest.fixture
def admin(database_url: str, visitor: Callable[[], Visitor]) -> Visitor:
    """An administrator of every account."""
    person = visitor()
    person.sign_in(add_person(database_url, Role.ACCOUNT_ADMIN))
    return person


def form(version: object = 0, **changes: object) -> dict[str, object]:
    """The form of an account without settings, with these fields changed."""
    typed = settings_form.form_of_account(Account(user_id="any", version=0))
    return {"version": str(version)} | dict(typed.fields) | changes


def test_changes_are_reviewed_before_they_are_stored(database_url: str, admin: Visitor, account: str) -> None:
    """The review page lists the changes and their risks; a second button stores them."""
    path = f"/accounts/{account}/settings"
    admin.get(path)
    changes = form(
        ai_control_enabled="on", ai_enabled_for_comments="on", moderation_failure="allow",
        threshold_hate="0,9", other_thresholds="rudeness = 0.5", fallback_language=["en"],
        fallback_text=["We will be <back> soon."],
    )  # fmt: skip
    shown = admin.post(path, **changes)
    before = in_force(database_url, account)
    done = admin.post(path, **changes, action="store")
    after = in_force(database_url, account)

    assert shown.status_code == 200
    assert "AI for comments" in shown.text
    assert "AI is switched on where it was off" in shown.text
    assert "answered without moderation" in shown.text
    assert "hate: only scores of 0.9 or more are stopped" in shown.text
    assert "rudeness: OpenAI&#39;s moderation model has no such category" in shown.text
    assert "We will be &lt;back&gt; soon." in shown.text
    assert (before.version, done.status_code) == (0, 303)
    assert after.moderation_thresholds == {"hate": 0.9, "rudeness": 0.5}
    assert after.fallback_texts == {"en": "We will be <back> soon."}
    assert (after.version, after.ai_control_enabled, after.moderation_failure) == (1, True, "allow")
    assert logged(database_url, account, "settings")[0]["version"] == 1


def test_disclosure_texts_are_edited_like_fallback_texts(
    database_url: str, admin: Visitor, account: str
) -> None:
    """They pass the review of the changes and are stored by language."""
    path = f"/accounts/{account}/settings"
    admin.get(path)
    changes = form(disclosure_language="en", disclosure_text="<b>An AI answers.")
    shown = admin.post(path, **changes)

    assert 'name="disclosure_text" value="&lt;b&gt;An AI answers."' in shown.text
    admin.post(path, **changes, action="store")
    assert in_force(database_url, account).disclosure_texts == {"en": "<b>An AI answers."}


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("threshold_hate", "1.5", "expected at most 1, got 1.5"),
        ("threshold_self-harm/intent", "high", "expected a number, got &#39;high&#39;"),
        ("other_thresholds", "odd = x", "expected a number, got &#39;x&#39;"),
        ("hold_max_s", "nan", "expected"),
        ("time_zone", "Mars", "expected a time zone such as Europe/Berlin, got &#34;Mars&#34;"),
        ("business_hours", "mon = 9-17", "mon: expected hours such as 09:00-12:00, 13:00-17:00, got"),
        ("escalation_actions", "REPLIED = escalate", "expected matched rules such as"),
        ("moderator_1_name", "Bad Name", "{0,39}$, got &#34;Bad Name&#34;"),
        ("moderator_5_failure", "pray", "expected one of hold, block, allow, got &#34;pray&#34;"),
        ("moderator_1_policy", "x" * 20_001, "expected at most 20000 characters, got &#34;xxx"),
        ("hold_max_s", "86,400", "expected a number, got &#39;86,400&#39;"),
        ("reply_max_age_s", "", "expected a number, got &#39;&#39;"),
        ("languages", "english", "0: expected the form ^[a-z]{2,3}$, got &#34;english&#34;"),
        ("moderation_failure", "pray", "expected"),
        ("policy_settings", "{", "expected a JSON object"),
        ("policy_settings", '{"nonsense": 1}', "nonsense: there is no such field"),
        ("policy_name", "nonsense", "name: expected one of"),
        ("moderator_2_endpoint", "http://evil.example", "{0,39}$, got &#34;http://evil.example&#34;"),
        ("moderator_1_thresholds", "S1 = high", "S1: expected a number, got &#34;high&#34;"),
        ("business_hours", "mon 09:00", "expected lines such as mon = 09:00-12:00, 13:00-17:00"),
        ("escalation_queues", "* = a\n* = b", "expected each name once"),
        ("holidays", "2026-12-25, tomorrow", "1: expected a date such as 2026-12-25"),
    ],
)
def test_an_error_is_shown_at_its_field(
    database_url: str, admin: Visitor, account: str, *, field: str, value: str, expected: str
) -> None:
    """The error has the expectation and the value; the typed values stay and nothing is stored."""
    path = f"/accounts/{account}/settings"
    admin.get(path)
    answer = admin.post(path, **form(**{"languages": "", field: value}), action="store")

    assert answer.status_code == 422
    assert expected in answer.text
    assert 'class="field-error"' in answer.text
    assert value[:100].replace('"', "&#34;") in answer.text
    assert in_force(database_url, account).version == 0


def test_storing_an_unchanged_form_stores_no_version(database_url: str, admin: Visitor, account: str) -> None:
    """The form keeps every value exactly, with numbers and policy."""
    policy = {"name": "guardrail", "highThreshold": 0.9}
    store(
        database_url, account, moderation_thresholds={"hate": 0.123456789}, hold_max_s=0.5,
        assessment_policy=policy, languages=("en", "de"), prompt="Two\nlines.",
        fallback_texts={"de": "Bald."}, disclosure_texts={"de": "Hier antwortet eine KI."},
        handoff_texts={"de": "Gleich."}, handoff_texts_closed={"de": "Morgen."}, time_zone="Europe/Berlin",
        escalation_actions={"NO_ANSWER": "escalate", "flagged_keyword:a = b": "silence"},
        escalation_queues={"label:language=de": "german", "*": "others"}, holidays=("2026-12-25",),
        business_hours={"mon": "09:00-12:00, 13:00-17:00", "sat": ""},
    )  # fmt: skip
    path = f"/accounts/{account}/settings"
    page = admin.get(path)
    typed = settings_form.form_of_account(in_force(database_url, account))
    rows = {
        f"{prefix}_{part}": values
        for name, prefix in mapping_fields.ROWS.items()
        for part, values in zip(("language", "text"), zip(*typed.texts[name], strict=True), strict=True)
    }
    same = admin.post(path, **{"version": "1"} | typed.fields, **rows)

    assert "guardrail" in page.text
    assert same.headers["location"].endswith("?same=1")
    assert in_force(database_url, account).version == 1


MODERATORS: dict[str, object] = {
    "moderator_1_name": "openai_moderation",
    "moderator_1_endpoint": "openai_moderation",
    "moderator_3_name": "house-rules",
    "moderator_3_endpoint": "guard",
    "moderator_3_failure": "allow",
    "moderator_3_thresholds": "unsafe = 0,7\nhate speech = 0.5",
    "moderator_3_policy": "No <b>insults</b>.\nNo threats.",
    "moderation_combination": "all",
}


def test_moderators_are_chosen_on_the_form(database_url: str, admin: Visitor, account: str) -> None:
    """Rows with values are the moderators, in order; risks and a missing classifier are named."""
    path = f"/accounts/{account}/settings"
    admin.get(path)
    shown = admin.post(path, **form(**MODERATORS))
    admin.post(path, **form(**MODERATORS), action="store")
    after, page = in_force(database_url, account), admin.get(path).text

    assert [each.name for each in after.moderators] == ["openai_moderation", "house-rules"]
    assert after.moderators[1] == ModeratorChoice(
        name="house-rules",
        endpoint="guard",
        failure=FailurePolicy.ALLOW,
        thresholds={"unsafe": 0.7, "hate speech": 0.5},
        policy="No <b>insults</b>.\nNo threats.",
    )
    assert after.moderation_combination is Combination.ALL
    assert "While house-rules is down, messages are answered without its result." in shown.text
    assert "A text that one moderator flags may pass" in shown.text
    assert "house-rules: this deployment declares no classifier guard" in shown.text
    assert "2. Policy: No &lt;b&gt;insults&lt;/b&gt;." in shown.text
    assert 'name="moderator_2_name" maxlength="40" value="house-rules"' in page


def test_a_form_with_moderators_keeps_every_value(database_url: str, admin: Visitor, account: str) -> None:
    """Storing it unchanged stores no version; emptied rows remove a moderator."""
    path = f"/accounts/{account}/settings"
    admin.get(path)
    admin.post(path, **form(**MODERATORS), action="store")
    typed = settings_form.form_of_account(in_force(database_url, account)).fields
    same = admin.post(path, **{"version": "1"} | typed, action="store")
    emptied = {name: "" for name in typed if name.startswith("moderator_")}
    admin.post(path, **{"version": "1"} | typed | emptied, action="store")

    assert same.headers["location"].endswith("?same=1")
    assert in_force(database_url, account).moderators == ()


def test_a_stale_form_keeps_its_values_and_shows_the_other_changes(
    database_url: str, admin: Visitor, account: str
) -> None:
    """A form made from an older version is not stored, also with the action `store`."""
    path = f"/accounts/{account}/settings"
    admin.get(path)
    store(database_url, account, prompt="Theirs.")
    stale = admin.post(path, **form(languages="fr"), action="store")

    assert stale.status_code == 409
    assert "Another person saved meanwhile" in stale.text
    assert "Theirs." in stale.text
    assert 'value="fr"' in stale.text
    assert in_force(database_url, account).languages == ()
