"""The settings page: two levels of one form, errors at their fields, review of the changes, storing."""

from __future__ import annotations

import re
from itertools import count

import pytest

from db.people.records import Role
from review.accounts import settings_form
from review.accounts.settings_page import FIRST
from tests.integration.test_rule_pages import in_force, logged, store
from tests.support.reviewing import Visitor, Visitors, add_person, signed_in
from worker.account_settings import RULES, SETTINGS
from worker.model import Account, Combination, FailurePolicy, ModeratorChoice

NUMBERS = count(1)


@pytest.fixture
def account() -> str:
    """An account without settings."""
    return f"set-{next(NUMBERS)}"


@pytest.fixture
def admin(database_url: str, visitors: Visitors) -> Visitor:
    """An administrator of every account."""
    return signed_in(visitors, add_person(database_url, Role.ACCOUNT_ADMIN))


def form(version: object = 0, **changes: object) -> dict[str, object]:
    """The form of an account without settings, with these fields changed; ``__`` stands for a point."""
    typed = settings_form.form_of_account(Account(user_id="any", version=0))
    named = {name.replace("__", "."): value for name, value in changes.items()}
    return {"version": str(version)} | dict(typed.fields) | named


def field_names(page: str) -> set[str]:
    """The settings whose fields a page has."""
    names = re.findall(r'name="([a-z_]+)[.\w/-]*"', page)
    return {name for name in names if name in SETTINGS}


def test_the_first_level_has_the_settings_with_a_sentence(admin: Visitor, account: str) -> None:
    """At most twelve things, each labelled with the sentence of its declaration; the second level has all."""
    first = admin.get(f"/accounts/{account}/settings").text
    every = admin.get(f"/accounts/{account}/settings?level=all").text

    things = [field_names(each) for each in first.split("data-thing")]

    assert 10 <= len(things[1:]) <= 12
    assert {"ai_control_enabled", "ai_enabled_for_chats", "ai_enabled_for_comments"} in things
    assert {"time_zone", "business_hours"} in things
    assert "reply_mode" in {name for each in things if len(each) == 1 for name in each}
    assert field_names(first) == set(FIRST)
    assert field_names(every) == {name for name in SETTINGS if name not in RULES}
    assert all(SETTINGS[name].sentence in first for name in FIRST)
    assert all(f"<code>{name}</code>" in every for name in FIRST)
    assert "Default: 1 day" in every


def test_texts_in_many_languages_are_folded_and_counted(
    database_url: str, admin: Visitor, account: str
) -> None:
    """The form of a new account is read without the many languages of one text; an error unfolds them."""
    admin.get("/accounts")
    admin.post("/accounts", user_id=account)
    new = in_force(database_url, account)
    page = admin.get(f"/accounts/{account}/settings").text
    wrong = settings_form.form_of_account(new)
    wrong.errors["handoff_texts.3.key"] = "no language"

    assert (
        '<details><summary>What the customer reads when people take over <span class="badge">17</span>'
        in page
    )
    assert wrong.is_open("handoff_texts")


def test_fields_that_a_page_does_not_have_keep_their_settings(
    database_url: str, admin: Visitor, account: str
) -> None:
    """The first level changes nothing of the second one."""
    store(database_url, account, hold_max_s=0.5, mask_personal_data=True, ai_enabled_for_chats=True)
    path = f"/accounts/{account}/settings"
    admin.get(path)
    admin.post(path, version="1", languages="de", ai_enabled_for_chats="", action="store")
    after = in_force(database_url, account)

    assert (after.version, after.languages, after.ai_enabled_for_chats) == (2, ("de",), False)
    assert (after.hold_max_s, after.mask_personal_data) == (0.5, True)


def test_options_of_a_policy_are_fields(database_url: str, admin: Visitor, account: str) -> None:
    """Each option of the chosen design has a field with help; an emptied one has its default again."""
    policy = {"name": "guardrail", "highThreshold": 0.9, "enableRecheck": False}
    store(database_url, account, assessment_policy=policy)
    path = f"/accounts/{account}/settings"
    page = admin.get(f"{path}?level=all").text
    admin.post(
        path,
        **{
            "version": "1",
            "assessment_policy.high_threshold": "85",
            "assessment_policy.enable_recheck": "",
            "assessment_policy.retry_with": "yes",
            "assessment_policy.retry_with.below": "0.4",
            "assessment_policy.retry_with.model": "other",
            "assessment_policy.missing_texts.0.key": "en",
            "assessment_policy.missing_texts.0.text": "The rest is <unknown>.",
            "assessment_policy.thresholds.0.key": "label:subject=tax > high_threshold",
            "assessment_policy.thresholds.0.text": "0.95",
            "action": "store",
        },
    )
    chosen = admin.post(
        path, **{"version": "2", "assessment_policy.name": "failsafe", "level": "all"}, action="back"
    )

    assert "Confidence from which a draft is made a second time, 0 to 1." in page
    assert 'name="assessment_policy.recheck_documents" inputmode="decimal" value="" placeholder="10"' in page
    assert in_force(database_url, account).assessment_policy == {
        "name": "guardrail",
        "high_threshold": 0.85,
        "retry_with": {"below": 0.4, "model": "other"},
        "missing_texts": {"en": "The rest is <unknown>."},
        "thresholds": {"label:subject=tax": {"high_threshold": 0.95}},
    }
    assert 'name="assessment_policy.guardrail.medium_threshold"' in chosen.text
    assert in_force(database_url, account).version == 2


def test_changes_are_reviewed_before_they_are_stored(database_url: str, admin: Visitor, account: str) -> None:
    """The review page lists the changes and their risks; a second button stores them."""
    path = f"/accounts/{account}/settings"
    admin.get(path)
    changes = form(
        ai_control_enabled="on", ai_enabled_for_comments="on", moderation_failure="allow",
        moderation_thresholds__hate="90", moderation_thresholds__others="rudeness = 50 %",
        fallback_texts__0__key="en", fallback_texts__0__text="We will be <back> soon.",
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


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("moderation_thresholds.hate", "150", "Write a percentage from 0 to 100, not “150”."),
        ("moderation_thresholds.self-harm/intent", "high", "a percentage from 0 to 100, not “high”."),
        ("moderation_thresholds.others", "odd = x", "Write a percentage from 0 to 100, not “x”."),
        ("hold_max_s", "nan", "Write a number, not “nan”."),
        ("reply_max_age_s", "86,400", "Write at most 31 days, not 86400 days."),
        ("reply_max_age_s", "", "Write a number."),
        ("time_zone", "Mars", "Write a time zone such as Europe/Berlin, not &#34;Mars&#34;."),
        ("business_hours.mon", "9-17", "Write hours such as 09:00-12:00, 13:00-17:00, not"),
        ("escalation_actions", "REPLIED = escalate", "Write a matched rule such as"),
        ("moderators.0.name", "Bad Name", "Write a name of small letters, digits, - and _"),
        ("moderators.4.failure", "pray", "Choose one of hold, block, allow, not &#34;pray&#34;."),
        ("moderators.0.policy", "x" * 20_001, "Write at most 20000 characters, not &#34;xxx"),
        ("languages", "english", "Write a language code such as en or de, not &#34;english&#34;."),
        ("moderation_failure", "pray", "Choose one of hold, block, allow"),
        ("assessment_policy.send_at", "many", "Write a percentage from 0 to 100, not “many”."),
        ("assessment_policy.partial_min_share", "2", "expected a number above 0, at most 1, got 2"),
        ("assessment_policy.name", "nonsense", "Choose one of calibrated, failsafe"),
        ("moderators.1.endpoint", "http://evil.example", "starts with a letter, not &#34;http://evil"),
        ("moderators.0.thresholds", "S1 = high", "S1: Write a number, not &#34;high&#34;."),
        ("escalation_queues", "* = a\n* = b", "Write each name once: “*” comes twice."),
        (
            "escalation_queues",
            "mon 09:00",
            "Write lines such as label:language=de = german, not “mon 09:00”.",
        ),
        ("holidays", "2026-12-25, tomorrow", "Write a date such as 2026-12-25, not"),
    ],
)
def test_an_error_is_shown_at_its_field(
    database_url: str, admin: Visitor, account: str, *, field: str, value: str, expected: str
) -> None:
    """The error has the expectation and the value; the typed values stay and nothing is stored."""
    path = f"/accounts/{account}/settings"
    admin.get(path)
    answer = admin.post(path, **form() | {field: value}, level="all", action="store")

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
    same = admin.post(path, **{"version": "1"} | typed.fields, level="all")

    assert "guardrail" in page.text
    assert same.headers["location"].endswith("?same=1&level=all")
    assert in_force(database_url, account).version == 1


MODERATORS: dict[str, object] = {
    "moderators__0__name": "openai_moderation",
    "moderators__0__endpoint": "openai_moderation",
    "moderators__2__name": "house-rules",
    "moderators__2__endpoint": "guard",
    "moderators__2__failure": "allow",
    "moderators__2__thresholds": "unsafe = 0,7\nhate speech = 0.5",
    "moderators__2__policy": "No <b>insults</b>.\nNo threats.",
    "moderation_combination": "all",
}


def test_moderators_are_chosen_on_the_form(database_url: str, admin: Visitor, account: str) -> None:
    """Rows with values are the moderators, in order; risks and a missing classifier are named."""
    path = f"/accounts/{account}/settings"
    admin.get(path)
    shown = admin.post(path, **form(**MODERATORS))
    admin.post(path, **form(**MODERATORS), action="store")
    after, page = in_force(database_url, account), admin.get(f"{path}?level=all").text

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
    assert 'name="moderators.1.name" maxlength="40" value="house-rules"' in page


def test_a_form_with_moderators_keeps_every_value(database_url: str, admin: Visitor, account: str) -> None:
    """Storing it unchanged stores no version; emptied rows remove a moderator."""
    path = f"/accounts/{account}/settings"
    admin.get(path)
    admin.post(path, **form(**MODERATORS), action="store")
    typed = settings_form.form_of_account(in_force(database_url, account)).fields
    same = admin.post(path, **{"version": "1"} | typed, action="store")
    emptied = {name: "" for name in typed if name.startswith("moderators.")}
    admin.post(path, **{"version": "1"} | typed | emptied, action="store")

    assert same.headers["location"].endswith("?same=1")
    assert in_force(database_url, account).moderators == ()


def test_a_stale_form_keeps_its_values_and_shows_the_other_changes(
    database_url: str, admin: Visitor, account: str
) -> None:
    """A form made from an older version is not stored, also with an error in it or the action `store`.

    The form on top of the other changes does not undo them.
    """
    path = f"/accounts/{account}/settings"
    admin.get(path)
    store(database_url, account, time_zone="Europe/Paris", handoff_texts={"de": "Gleich."})
    answers = [admin.post(path, **form(languages=each), action="store") for each in ("fr", "french")]
    stale = answers[0]

    assert [each.status_code for each in answers] == [409, 409]
    assert "Another person saved meanwhile" in stale.text
    for text in ("fr", "Europe/Paris", "de"):
        assert f'value="{text}"' in stale.text
    assert "Gleich.</textarea>" in stale.text
    assert in_force(database_url, account).languages == ()


def test_a_setting_shows_what_its_change_would_have_done(
    database_url: str, admin: Visitor, account: str
) -> None:
    """Of one setting as typed, whatever else the form has; nothing is stored."""
    path = f"/accounts/{account}/settings"
    admin.get(path)
    changed = admin.post(
        path, **form(level="all", hold_max_s="2", reply_max_age_s="soon"), effect="hold_max_s"
    )
    wrong = admin.post(path, **form(level="all", reply_max_age_s="soon"), effect="reply_max_age_s")
    same = admin.post(path, **form(level="all", reply_max_age_s="soon"), effect="hold_max_s")

    assert "No decision of the last 7 days" in effect_at(changed.text, "hold_max_s")
    assert "Write a number" in effect_at(wrong.text, "reply_max_age_s")
    assert "This is the setting in force" in effect_at(same.text, "hold_max_s")
    assert 'value="soon"' in changed.text


def effect_at(page: str, name: str) -> str:
    """The start of the part below a setting."""
    start = page.index(f'id="effect-{name}"')
    return page[start : start + 300]


def test_an_effect_asked_from_an_older_version_shows_the_changes_meanwhile(
    database_url: str, admin: Visitor, account: str
) -> None:
    """The form does not move to the newer version unseen."""
    path = f"/accounts/{account}/settings"
    admin.get(path)
    admin.post(path, **form(languages="de"), action="store")
    page = admin.post(path, **form(level="all", hold_max_s="2"), effect="hold_max_s")

    assert page.status_code == 409
    assert "Another person saved meanwhile" in page.text
