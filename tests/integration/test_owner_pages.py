"""The pages of a shop owner: home, settings, presets, and one rule."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from uuid import UUID

import psycopg
import pytest

from db.account_settings.accounts import current_account, store_account
from db.audit.search import TooSlow
from db.audit.suggestions import Suggestions
from db.figures.hourly import fill_next
from db.people.records import Role
from review.accounts.settings_form import form_of_account
from review.languages.choice import ZONE_COOKIE
from review.owner import home_page
from tests.support.audited import ignored, record, replied
from tests.support.pools import in_pool
from tests.support.review_world import World
from tests.support.reviewing import Visitor, Visitors, add_person, signed_in, site, stored, zone_at
from tests.support.running import eventually
from tests.support.samples import event
from worker.model import Account, FailurePolicy, ReplyMode
from worker.presets import PRESETS, PresetKind, PresetName, preset_of, presets_of
from worker.reasons import Reason

SHOP = "owned-shop"
SPENT = """
    INSERT INTO account_costs (user_id, grain, start, purpose, model, slot, decisions, prompt_tokens,
        completion_tokens, nano_usd, unpriced_tokens)
    SELECT %s, grain, date_trunc(grain, now() AT TIME ZONE 'utc')::date, 'judge', 'spent', 0, 1, 1, 1, 3e9, 0
    FROM (VALUES ('day'), ('month')) AS grains (grain)
"""
FIELDS = {
    "answer": re.compile(r'name="answer" value="([0-9a-f-]{36})"'),
    "draft": re.compile(r'name="draft" value="([0-9]+)"'),
}


@pytest.fixture(scope="module")
def visitor(database_url: str, world: World) -> Iterator[Visitors]:
    """A running site without a moderator, which counts the decisions of the world."""
    with site(database_url, OPENAI_MODERATION_ENABLED="false") as made:
        yield made


@pytest.fixture(scope="module")
def world(database_url: str) -> Iterator[World]:
    """An account with decisions, held drafts and a suggestion."""
    with World(database_url, SHOP) as made:
        made.add("ai_rules", user_id=SHOP, version=1, flagged_keywords=["casino"])
        made.suggested()
        made.answered()
        yield made


@pytest.fixture
def owner(database_url: str, visitor: Visitors, world: World) -> Visitor:
    """The owner of the shop."""
    return signed_in(visitor, add_person(database_url, Role.OWNER, account=world.account))


def in_force(url: str) -> Account:
    """The shop's settings."""
    return in_pool(url, lambda pool: current_account(pool, SHOP), role=None)


def form(account: Account, **changes: str) -> dict[str, str]:
    """The form of an account with these fields changed; ``__`` stands for a point."""
    fields = form_of_account(account).fields
    named = {name.replace("__", "."): text for name, text in changes.items()}
    return fields | {"version": str(account.version)} | named


def test_an_owner_starts_at_the_home_of_the_account(owner: Visitor) -> None:
    """The start page leads there, and the home shows what people asked for in vain."""
    first = owner.get("/")
    home = first.headers["location"]
    held = "The AI was not sure enough of its answer"
    eventually(lambda: held in owner.get(home).text, "the counts of the hour that may just have ended")
    page = owner.get(home)

    assert (first.status_code, home) == (303, f"/accounts/{SHOP}/home")
    assert owner.get(f"/accounts/{SHOP}").headers["location"] == home
    assert page.status_code == 200
    assert "some topic" in page.text
    assert "NO_EVIDENCE</a>" not in page.text


def test_people_with_more_roles_start_at_the_start_page(database_url: str, visitor: Visitors) -> None:
    """Only a person who owns one account and nothing else is sent to its home."""
    person = signed_in(visitor, add_person(database_url, Role.OWNER, Role.VIEWER, account=SHOP))

    assert person.get("/").status_code == 200


def test_durations_are_reviewed_in_words_and_stored_in_seconds(database_url: str, owner: Visitor) -> None:
    """Five minutes become 300 seconds after the review."""
    path, before = f"/accounts/{SHOP}/settings", in_force(database_url)
    owner.get(path)
    fields = form(
        before, reply_max_age_s="5", reply_max_age_s__unit="minutes", moderation_thresholds__hate="60"
    )
    shown = owner.post(path, **fields)
    done = owner.post(path, **fields, action="store")
    after = in_force(database_url)

    assert (shown.status_code, done.status_code) == (200, 303)
    assert "5 minutes" in shown.text
    assert "86400" not in shown.text
    assert done.headers["location"].startswith(path)
    assert after.reply_max_age_s == 300
    assert after.moderation_thresholds["hate"] == 0.6
    assert after.version > before.version


def test_a_preset_shows_its_changes_before_it_is_stored(database_url: str, owner: Visitor) -> None:
    """The careful preset lets a person approve every answer."""
    path = f"/accounts/{SHOP}/settings"
    owner.get(path)
    base = {"version": str(in_force(database_url).version), "preset": "careful"}
    shown = owner.post(path, **base)
    before = in_force(database_url)
    owner.post(path, **base, action="store")
    after = in_force(database_url)

    assert "Preset Careful: what it changes" in shown.text
    assert before.reply_mode is ReplyMode.AUTO
    assert (after.reply_mode, after.moderation_failure) == (ReplyMode.SUGGEST, FailurePolicy.BLOCK)
    assert "in force" in owner.get(path).text


@pytest.mark.parametrize("name", presets_of(PresetKind.DESIGN))
def test_a_design_is_chosen_in_one_step(database_url: str, owner: Visitor, name: PresetName) -> None:
    """Its changes and needs are shown, then stored; the page names the design in force."""
    path = f"/accounts/{SHOP}/settings"
    owner.get(path)
    base = {"version": str(in_force(database_url).version), "preset": name.value}
    shown = owner.post(path, **base)
    owner.post(path, **base, action="store")
    page = owner.get(path).text
    current = page[page.index("data-current", page.index('id="designs"')) :]

    assert shown.status_code in {200, 303}
    assert preset_of(in_force(database_url), PresetKind.DESIGN) is name
    assert PRESETS[name].title in html.unescape(current[:400])


def test_the_home_of_a_misspelt_account_says_so(visitor: Visitors, database_url: str) -> None:
    """It has no first steps; the pages of an account with settings have no such line."""
    admin = signed_in(visitor, add_person(database_url, Role.OWNER))
    wrong, right = (admin.get(f"/accounts/{name}/home").text for name in ("owned-shp", SHOP))

    assert "No settings are stored under this name" in wrong
    assert "First steps" not in wrong
    assert "No settings are stored under this name" not in right


def test_one_word_becomes_a_rule_after_its_effect_was_shown(database_url: str, owner: Visitor) -> None:
    """The page counts the recent messages that the word would have stopped, and the replies."""
    path = f"/accounts/{SHOP}/rules/one"
    shown = owner.get(f"{path}?word=question")
    done = owner.post(path, word="question")
    owner.post(path, word="two  words")
    after = in_force(database_url)

    assert "It would have stopped 1 of the last 3 messages." in shown.text
    assert "data-preview" in shown.text
    assert done.status_code == 303
    assert "question" in after.flagged_keywords
    assert "two words" in after.flagged_phrases


@pytest.mark.parametrize("word", ["", "/(unclosed/", "x" * 1001])
def test_a_word_that_is_no_rule_is_refused_beside_its_field(owner: Visitor, word: str) -> None:
    """The problem is shown and nothing is stored."""
    path = f"/accounts/{SHOP}/rules/one"
    owner.get(path)
    page = owner.post(path, word=word)

    assert page.status_code == 422
    assert 'id="wrong-word"' in page.text


def test_a_held_text_is_approved_from_the_home(owner: Visitor, world: World) -> None:
    """The owner sends the AI's text, and the home no longer lists the message."""
    decision = wait_for_owner(world)
    home = f"/accounts/{SHOP}/home"
    shown = owner.get(home).text
    card = shown[shown.index(f'id="waits-{decision}"') :]
    fields = {name: found[1] for name, pattern in FIELDS.items() if (found := pattern.search(card))}
    sent = owner.post(f"{home}/{decision}", action="approve", **fields)
    after = owner.get(home).text

    assert "a held text to approve" in card
    assert (sent.status_code, sent.headers["location"]) == (303, f"{home}?answered={decision}#waiting")
    assert f'id="waits-{decision}"' not in after
    assert world.one("SELECT outcome FROM answers WHERE decision_id = %s", decision) == "unchanged"


def test_an_answer_that_cannot_be_sent_is_refused_on_the_home(owner: Visitor, world: World) -> None:
    """The page says why, and a decision of another account is unknown."""
    home = f"/accounts/{SHOP}/home"
    owner.get(home)
    wrong = owner.post(f"{home}/{world.decision.decision_id}", action="approve")

    assert wrong.status_code == 400
    assert "Not sent." in wrong.text


def test_automatic_answers_are_switched_on_after_a_look_at_the_newest_drafts(
    database_url: str, visitor: Visitors, world: World
) -> None:
    """A draft that only waited for approval would have been sent; the others say why not."""
    account, person, now = "careful-shop", visitor(), datetime.now(UTC)
    world.add("ai_rules", user_id=account, version=1, reply_mode="suggest", ai_control_enabled=True)
    drafts = {Reason.HELD_FOR_APPROVAL: "a trusted draft", Reason.LOW_CONFIDENCE: "a doubtful draft"}
    for reason, text in drafts.items():
        made = ignored(reason_code=reason, user_id=account)
        record(database_url, made)
        world.add(
            "held_drafts", user_id=account, conversation_id="c", message_id=made.event.message_id,
            decision_id=made.decision_id, reason_code=reason, kind="reply", text=text, created_at=now,
            expires_at=now + timedelta(days=1),
        )  # fmt: skip
    person.sign_in(add_person(database_url, Role.OWNER, account=account))
    path = f"/accounts/{account}/automatic"
    home, shown = person.get(f"/accounts/{account}/home").text, person.get(path).text
    stale = person.post(path, version="0")
    still = person.get(path).text
    switched = person.post(path, version="1")
    after = in_pool(database_url, lambda pool: current_account(pool, account), role=None)

    assert f'href="{path}"' in home
    assert "<strong>1 would have been sent</strong> and 1 would have been held" in shown
    assert all(text in shown for text in drafts.values())
    assert (stale.status_code, switched.status_code) == (409, 303)
    assert "Send answers without approval" in still
    assert (after.version, after.reply_mode) == (2, ReplyMode.AUTO)
    assert "Automatic answers are on" in person.get(path).text


def test_answers_of_an_account_whose_ai_is_off_are_not_called_automatic(
    database_url: str, visitor: Visitors, world: World
) -> None:
    """New settings send without approval, and the AI is off until a person switches it on."""
    account, person = "sleeping-shop", visitor()
    world.add("ai_rules", user_id=account, version=1, reply_mode="auto", ai_control_enabled=False)
    person.sign_in(add_person(database_url, Role.OWNER, account=account))
    page = person.get(f"/accounts/{account}/automatic").text
    home = person.get(f"/accounts/{account}/home").text

    assert "AI replies are switched off" in page
    assert "Automatic answers are on" not in page
    assert "See how the last drafts would have gone, then decide." in home  # a step that is not done


def wait_for_owner(world: World) -> UUID:
    """A decision that waits, with a text of the AI."""
    made, now = world.suggested(), datetime.now(UTC)
    of_message = {
        "user_id": SHOP,
        "conversation_id": f"waits-{made.decision_id}",
        "message_id": made.event.message_id,
        "decision_id": made.decision_id,
        "reason_code": made.reason_code,
    }
    world.add(
        "escalations", **of_message, event_id=made.event.event_id, author_id="a", scope="chat", queue="",
        opened_at=now - timedelta(days=1),
    )  # fmt: skip
    until = now + timedelta(days=1)
    world.add(
        "held_drafts", **of_message, kind="reply", text="a held text to approve", draft="a held text",
        created_at=now, send_before=until, expires_at=until,
    )  # fmt: skip
    return made.decision_id


def test_the_home_shows_the_newest_replies_of_every_reason(database_url: str, visitor: Visitors) -> None:
    """In the order of time, without those that were cancelled."""
    account, person, now = "replies-of-reasons", visitor(), datetime.now(UTC)
    reasons = (Reason.REPLIED, Reason.PARTIAL_REPLY, Reason.REPLIED, Reason.FALLBACK_SENT)
    for number, reason in enumerate(reasons):
        asked = event(
            user_id=account, event_id=f"e{number}", message_id=f"m{number}", text=f"question {number}"
        )
        at = now - timedelta(minutes=number)
        record(database_url, replace(replied(event=asked), reason_code=reason, decided_at=at))
    with psycopg.connect(database_url) as other:
        cancel = "UPDATE outbox SET cancelled_at = now() WHERE user_id = %s AND event_id = 'e2'"
        other.execute(cancel, (account,))
    person.sign_in(add_person(database_url, Role.OWNER, account=account))
    page = person.get(f"/accounts/{account}/home").text

    assert re.findall(r"question \d", page) == ["question 0", "question 1", "question 3"]


def test_answered_today_counts_a_day_of_the_readers_time_zone(database_url: str, visitor: Visitors) -> None:
    """Two hours ago is today where it is late, and yesterday after midnight."""
    account, person, now = "replies-of-a-day", visitor(), datetime.now(UTC)
    record(database_url, replace(replied(event=event(user_id=account)), decided_at=now - timedelta(hours=2)))
    while stored(database_url, lambda connection: fill_next(connection, now=datetime.now(UTC))) is not None:
        pass
    person.sign_in(add_person(database_url, Role.OWNER, account=account))
    counted = []
    for hour in (23, 0):
        person.client.cookies.set(ZONE_COOKIE, zone_at(hour))
        page = person.get(f"/accounts/{account}/home").text
        counted += re.findall(r"<dt>Answered (?:today|in 7 days)</dt><dd>(\d+)<", page)

    assert counted == ["1", "1", "0", "1"]


def test_replies_that_cannot_be_read_in_time_are_not_called_none(owner: Visitor, database_url: str) -> None:
    """The page asks to be loaded again."""
    with psycopg.connect(database_url) as connection:
        connection.execute("LOCK TABLE outbox")
        page = owner.get(f"/accounts/{SHOP}/answered").text

    assert "could not be read in time" in page
    assert "No reply was sent" not in page


def test_the_home_calls_no_question_covered_that_it_did_not_read(
    database_url: str, owner: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Questions that were not read in time do not show that the documents cover them."""

    async def too_slow(*_: object, **__: object) -> Suggestions:
        raise TooSlow

    monkeypatch.setattr(home_page, "load_visible_suggestions", too_slow)
    late = owner.get(f"/accounts/{SHOP}/home").text
    asked = late[late.index('id="asked"') :]

    assert "could not be read in time" in asked
    assert "None among" not in asked


def test_the_home_says_which_tokens_its_cost_leaves_out(owner: Visitor) -> None:
    """A cost without them is read as the whole, and an unknown one as a defect."""
    page = owner.get(f"/accounts/{SHOP}/home").text
    cost = page[page.index("Cost this month") : page.index('id="waiting"')]

    assert "unknown" in cost
    assert re.search(r"without \d+ tokens? that (has|have) no price", cost)


def store(url: str, statement: str, user_id: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement, (user_id,))


def test_a_budget_for_a_day_is_a_budget(owner: Visitor, database_url: str) -> None:
    """The home says what of it is spent, when all of it is, and only where there is none that none is set."""
    pages = []
    store(database_url, SPENT, SHOP)
    for budget in (9.0, 2.0, None):
        account = replace(in_force(database_url), budget_day_usd=budget)
        in_pool(database_url, partial(store_account, account=account, changed_by="test"), role=None)
        pages.append(owner.get(f"/accounts/{SHOP}/home").text)

    store(database_url, "DELETE FROM account_costs WHERE user_id = %s AND model = 'spent'", SHOP)

    assert ["no budget is set" in each for each in pages] == [False, False, True]
    assert ["The budget is spent" in each for each in pages] == [False, True, False]
    assert ["of a budget of" in each for each in pages] == [True, True, False]


def test_the_page_of_answers_leads_to_all_of_them(owner: Visitor) -> None:
    """Replies of the AI, and answers of people, which the AI had not answered."""
    page = owner.get(f"/accounts/{SHOP}/answered").text
    paths = [html.unescape(each) for each in re.findall(r'href="(/decisions\?account[^"]*)"', page)]

    assert any("<tr data-row" in owner.get(each).text and "answered=yes" in each for each in paths)
