"""API tokens end with the password, the role or the access of their owner."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from db.people import records
from db.people.records import Role, RoleGrant
from tests.integration.test_invitations import invited
from tests.integration.test_sign_in import link_for
from tests.support.reviewing import (
    PASSWORD,
    Visitors,
    add_person,
    api_token,
    signed_in,
    stored,
    token_status,
)
from tests.support.terminal import Shell

NEW = "another long enough password"


def test_a_new_password_of_ones_own_ends_tokens_and_links(database_url: str, visitors: Visitors) -> None:
    """The session that changed it goes on; the page said so before, and a later token works."""
    person = add_person(database_url, Role.VIEWER)
    owner, other = signed_in(visitors, person), signed_in(visitors, person)
    token, link = api_token(owner), link_for(database_url, person)
    assert token_status(visitors, token) == 200
    page = owner.get("/profile/password").text
    done = owner.post("/profile/password", current=PASSWORD, new=NEW, again=NEW)
    late = visitors()
    late.get(f"/sign-in/link?token={link}")

    assert "API tokens" in page
    assert (done.status_code, token_status(visitors, token)) == (303, 401)
    assert late.post("/sign-in/link", token=link).status_code == 410
    assert (owner.get("/profile").status_code, other.get("/profile").status_code) == (200, 303)
    assert token_status(visitors, api_token(owner)) == 200


def test_a_new_password_of_ones_own_withdraws_the_invitations_that_one_made(
    database_url: str, visitors: Visitors
) -> None:
    """Another session may have made them; an invitation of another administrator stays open."""
    person = add_person(database_url, Role.ACCOUNT_ADMIN, account="shop-3")
    colleague = signed_in(visitors, add_person(database_url, Role.ACCOUNT_ADMIN, account="shop-3"))
    owner, thief = signed_in(visitors, person), signed_in(visitors, person)
    planted = invited(thief, "planted@example.org", "shop-3", "account_admin")
    other = invited(colleague, "other@example.org", "shop-3")
    page = owner.get("/profile/password").text
    done = owner.post("/profile/password", current=PASSWORD, new=NEW, again=NEW)

    assert (done.status_code, visitors().get(planted).status_code) == (303, 410)
    assert visitors().get(other).status_code == 200
    assert "invitations you made" in page


@pytest.mark.parametrize("what", ["password", "disable", "sign_out"])
def test_what_an_administrator_does_to_a_login_ends_its_tokens(
    database_url: str, visitors: Visitors, what: str
) -> None:
    """A new password, disabling and signing out."""
    person = add_person(database_url, Role.VIEWER)
    token = api_token(signed_in(visitors, person))
    admin = signed_in(visitors, add_person(database_url, Role.ACCOUNT_ADMIN))
    admin.get("/people")
    admin.post(f"/people/{person.person_id}/manage", what=what)
    admin.post(f"/people/{person.person_id}/manage", what="enable")

    assert token_status(visitors, token) == 401


def test_a_lost_role_ends_the_tokens_made_with_it(database_url: str, visitors: Visitors) -> None:
    """Although another role is left, and when the role is given again."""
    person = add_person(database_url, Role.VIEWER, Role.LEAD, account="shop-1")
    token = api_token(signed_in(visitors, person))
    admin = signed_in(visitors, add_person(database_url, Role.ACCOUNT_ADMIN, account="shop-1"))
    admin.get("/people")
    admin.post(f"/people/{person.person_id}/revoke", role="lead", account="shop-1")
    admin.post(f"/people/{person.person_id}/grant", role="lead", account="shop-1")

    assert token_status(visitors, token) == 401


def test_an_administrator_ends_no_token_of_accounts_of_others(database_url: str, visitors: Visitors) -> None:
    """Giving and taking a role does not stop a person's programs on other accounts."""
    person = add_person(database_url, Role.VIEWER, account="shop-2")
    wanted = RoleGrant(user_id="shop-1", role=Role.VIEWER)
    stored(database_url, lambda each: records.grant_role(each, person.person_id, wanted, granted_by="test"))
    token = api_token(signed_in(visitors, person))
    admin = signed_in(visitors, add_person(database_url, Role.ACCOUNT_ADMIN, account="shop-1"))
    admin.get("/people")
    taken = admin.post(f"/people/{person.person_id}/revoke", role="viewer", account="shop-1")

    assert (taken.status_code, token_status(visitors, token)) == (303, 200)


def test_a_role_that_is_taken_at_the_command_line_ends_tokens(
    database_url: str, visitors: Visitors, tmp_path: Path
) -> None:
    """The row says how many."""
    person = add_person(database_url, Role.VIEWER, Role.LEAD)
    token = api_token(signed_in(visitors, person))
    known = {"DATABASE_URL": database_url, "REDIS_URL": "redis://127.0.0.1:1/0", "PATH": "/usr/bin:/bin"}
    shell = Shell(environment=known, folder=tmp_path)
    ended = shell.run("review", "revoke", person.login, "--role", "lead")

    assert (ended.code, ended.rows[0]["keys_revoked"], token_status(visitors, token)) == (0, 1, 401)


def test_a_token_says_when_it_ends(database_url: str, visitors: Visitors) -> None:
    """Programs read it from every answer; people are told two weeks before."""
    person = add_person(database_url, Role.VIEWER)
    owner = signed_in(visitors, person)
    token = api_token(owner)
    answer = visitors().get("/api/v1/decisions", headers={"Authorization": f"Bearer {token}"})
    with psycopg.connect(database_url) as connection:
        aged = (
            "UPDATE api_tokens SET created_at = now() - interval '80 days',"
            " expires_at = now() + interval '10 days' WHERE person_id = %s"
        )
        connection.execute(aged, (person.person_id,))

    assert answer.headers["Hushgate-Token-Expires"][:4].isdigit()
    for page in ("/", "/profile"):
        assert "Your API token “mine” ends" in owner.get(page).text


@pytest.mark.parametrize("days", ["1", "7"])
def test_a_new_token_is_not_announced(database_url: str, visitors: Visitors, days: str) -> None:
    """People who make a token for a week know that it ends."""
    owner = signed_in(visitors, add_person(database_url, Role.VIEWER))
    api_token(owner, days=days)

    assert "Your API token" not in owner.get("/").text
    assert "mine" in owner.get("/profile/tokens").text
