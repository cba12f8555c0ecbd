"""The checklist of a new installation: judged by the data, hidden when done or dismissed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from uuid_utils.compat import uuid7

from db.people.first_steps import NAMED_BY_UP
from db.people.records import Role
from tests.support.reviewing import Visitor, Visitors, add_person, site

HEADING = "First steps"
DONE = re.compile(r'<li class="done">\s*<span>([^<]+)</span>')


@pytest.fixture
def owner(database_url: str) -> Iterator[psycopg.Connection]:
    """The database of one new installation, emptied afterwards."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection
        connection.execute("SET hushgate.erasing = on")
        for table in ("api_tokens", "person_roles", "documents", "event_keys", "ai_rules"):
            connection.execute(f"DELETE FROM {table}")


def signed_in(visitors: Visitors, url: str, role: Role, account: str = "*") -> Visitor:
    """A visitor with one role."""
    visitor = visitors()
    visitor.sign_in(add_person(url, role, account=account))
    return visitor


def add_account(owner: psycopg.Connection, name: str, *keywords: str, mode: str = "suggest") -> None:
    """A further version of an account's settings."""
    owner.execute(
        "INSERT INTO ai_rules (user_id, version, flagged_keywords, reply_mode, changed_by,"
        " ai_control_enabled)"
        " SELECT %s, coalesce(max(version), 0) + 1, %s, %s, 'test', true FROM ai_rules WHERE user_id = %s",
        (name, list(keywords), mode, name),
    )


def add_document(owner: psycopg.Connection, account: str) -> None:
    """A document without parts."""
    owner.execute(
        "INSERT INTO documents (user_id, title, content_hash) VALUES (%s, 'Hours', 'x')", (account,)
    )


def add_message(owner: psycopg.Connection, account: str) -> None:
    """The key of a decided event."""
    owner.execute(
        "INSERT INTO event_keys (user_id, event_id, entry_id, decision_id, created_at)"
        " VALUES (%s, 'e1', '1-0', %s, now())",
        (account, uuid7()),
    )


def add_token(owner: psycopg.Connection, scope: str, expires_at: datetime, name: str = "shop") -> None:
    """An API token of the only person with a role."""
    owner.execute(
        "INSERT INTO api_tokens (id, person_id, name, token_hash, prefix, scopes, expires_at)"
        " SELECT %s, person_id, %s, %s, 'hg', %s, %s FROM person_roles LIMIT 1",
        (uuid7(), name, uuid7().bytes, [scope], expires_at),
    )


@pytest.mark.parametrize(("model", "done"), [("", ["Connect a model"]), ("sandbox", [])])
def test_a_model_of_the_environment_is_connected(
    database_url: str, owner: psycopg.Connection, model: str, done: list[str]
) -> None:
    """The page names the variable; the sandbox, which is no model, leaves the step open."""
    with site(database_url, HUSHGATE_MODEL_URL="https://models.example/v1", HUSHGATE_MODEL=model) as visitors:
        page = signed_in(visitors, database_url, Role.ACCOUNT_ADMIN).get("/").text

    assert DONE.findall(page) == done
    assert ("Done: HUSHGATE_MODEL_URL" in page) is bool(done)


def test_each_step_is_done_once_its_data_exists(
    visitors: Visitors, database_url: str, owner: psycopg.Connection
) -> None:
    """Steps are marked one after the other; the list disappears with the last one."""
    admin, soon = signed_in(visitors, database_url, Role.ACCOUNT_ADMIN), datetime.now(UTC) + timedelta(days=1)
    seen = [DONE.findall(admin.get("/").text)]
    for step in (
        lambda: add_account(owner, "shop"),
        lambda: add_document(owner, "shop"),
        lambda: add_account(owner, "shop", "spam"),
        lambda: add_message(owner, "shop"),
        lambda: add_person(database_url, Role.REVIEWER, account="shop"),
    ):
        step()
        seen.append(DONE.findall(admin.get("/").text))
    add_token(owner, "read", soon)
    add_token(owner, "publish", soon - timedelta(days=2))
    add_token(owner, "publish", soon, name=f"{NAMED_BY_UP}2026-11-27 05:00")
    without_use = admin.get("/").text
    add_token(owner, "publish", soon)
    almost = admin.get("/").text
    owner.execute(
        "INSERT INTO access_log (action, person, detail, address)"
        """ VALUES ('settings', 'test', '{"models_tested": 2, "models_failed": 0}', '')"""
    )
    careful = admin.get("/").text
    add_account(owner, "shop", "spam", mode="auto")
    steps = ["Add an account", "Add a document", "Write a rule", "Send a test message", "Invite a person"]

    assert seen == [steps[:number] for number in range(6)]
    assert "5 of 8 done" in without_use
    assert "6 of 8 done" in almost
    assert "7 of 8 done" in careful
    assert HEADING not in admin.get("/").text


def test_a_rule_that_was_removed_opens_its_step_again(
    visitors: Visitors, database_url: str, owner: psycopg.Connection
) -> None:
    """Only the version in force counts."""
    admin = signed_in(visitors, database_url, Role.ACCOUNT_ADMIN)
    add_account(owner, "shop", "spam")
    before = DONE.findall(admin.get("/").text)
    add_account(owner, "shop")

    assert "Write a rule" in before
    assert "Write a rule" not in DONE.findall(admin.get("/").text)


def test_the_steps_are_hidden_on_request(
    visitors: Visitors, database_url: str, owner: psycopg.Connection
) -> None:
    """The button hides them in this browser only."""
    admin = signed_in(visitors, database_url, Role.ACCOUNT_ADMIN)
    before = admin.get("/").text
    answer = admin.post("/first-steps/hide")
    other = signed_in(visitors, database_url, Role.ACCOUNT_ADMIN)

    assert HEADING in before
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert HEADING not in admin.get("/").text
    assert HEADING in other.get("/").text


def test_a_shop_owner_sees_the_steps_of_the_account(
    visitors: Visitors, database_url: str, owner: psycopg.Connection
) -> None:
    """Also beside other accounts; without the steps of the installation, until they are hidden."""
    for name in ("shop", "another"):
        add_account(owner, name, "spam")
    visitor = signed_in(visitors, database_url, Role.OWNER, "shop")
    before = visitor.get("/accounts/shop/home").text
    add_document(owner, "another")
    add_document(owner, "shop")
    after = visitor.get("/accounts/shop/home").text
    visitor.post("/first-steps/hide")

    assert DONE.findall(before) == ["Write a rule"]
    assert "Connect a model" not in before
    assert "1 of 6 done" in before
    assert DONE.findall(after) == ["Add a document", "Write a rule"]
    assert HEADING not in visitor.get("/accounts/shop/home").text


@pytest.mark.parametrize(
    ("accounts", "grant"),
    [
        (("shop",), (Role.REVIEWER, "*")),
        (("shop",), (Role.ACCOUNT_ADMIN, "another")),
        (("shop", "another", "third", "fourth"), (Role.ACCOUNT_ADMIN, "*")),
    ],
)
def test_other_people_do_not_see_the_steps(
    visitors: Visitors,
    database_url: str,
    owner: psycopg.Connection,
    accounts: tuple[str, ...],
    grant: tuple[Role, str],
) -> None:
    """Reviewers, other accounts' administrators and installations with many accounts have no checklist."""
    for name in accounts:
        add_account(owner, name)
    visitor = signed_in(visitors, database_url, *grant)

    assert HEADING not in visitor.get("/").text


def test_a_second_account_leaves_the_steps_of_the_first(
    visitors: Visitors, database_url: str, owner: psycopg.Connection
) -> None:
    """A sample beside the own account is usual while people try the product."""
    add_account(owner, "shop")
    add_account(owner, "another")
    page = signed_in(visitors, database_url, Role.ACCOUNT_ADMIN).get("/").text

    assert HEADING in page
    assert "/accounts/shop/documents" in page


def test_an_account_name_is_shown_as_text_only(
    visitors: Visitors, database_url: str, owner: psycopg.Connection
) -> None:
    """Links quote the name of the account."""
    add_account(owner, '"><script>alert(1)</script>')
    page = signed_in(visitors, database_url, Role.ACCOUNT_ADMIN).get("/").text

    assert "<script>alert" not in page
    assert "/accounts/%22%3E%3Cscript%3E" in page
