"""People, their roles and the access log, as administrators and auditors use them."""

from __future__ import annotations

import re

import pytest

from db.people import records
from db.people.records import EVERY_ACCOUNT, Person, Role
from review.access import Right
from tests.support.audited import record, replied
from tests.support.review_world import World
from tests.support.reviewing import Visitors, add_person, signed_in, site, stored


def again(url: str, person: Person) -> Person:
    """A person as they are stored now."""
    found = stored(url, lambda each: records.get_person(each, person.person_id))
    assert found is not None
    return found


def test_an_added_person_signs_in(database_url: str, visitors: Visitors) -> None:
    """With a first password that is shown once to an administrator of every account, and must be replaced."""
    admin = signed_in(visitors, add_person(database_url, Role.ACCOUNT_ADMIN))
    made = admin.post("/people", login="New@Example.org", name="Sam", role="reviewer", account="shop-1")
    first = re.search(r"<code>([\w-]{16})</code>", made.text)
    assert first is not None
    sam = visitors()
    sam.get("/sign-in")

    assert sam.post("/sign-in", login="new@example.org", password=first[1]).status_code == 303
    assert sam.get("/").headers["location"] == "/profile/password"
    assert first[1] not in admin.get("/people").text


def test_an_administrator_of_one_account_grants_nothing_elsewhere(
    database_url: str, visitors: Visitors
) -> None:
    """Neither on another account nor on all, neither to a new person nor to themselves."""
    person = add_person(database_url, Role.ACCOUNT_ADMIN, account="shop-1")
    admin = signed_in(visitors, person)
    for account in ("shop-2", EVERY_ACCOUNT):
        fields = {"role": "viewer", "account": account}
        assert admin.post("/people", login="x@example.org", **fields).status_code == 403
        assert admin.post(f"/people/{person.person_id}/grant", **fields).status_code == 403
        assert admin.post(f"/people/{person.person_id}/revoke", **fields).status_code == 403
    assert admin.post(f"/people/{person.person_id}/grant", role="god", account="shop-1").status_code == 400

    assert again(database_url, person).grants == person.grants


def test_an_administrator_of_one_account_sees_no_other_account(database_url: str, visitors: Visitors) -> None:
    """Neither its people nor roles on it; passwords and access are for administrators of every account."""
    admin = signed_in(visitors, add_person(database_url, Role.ACCOUNT_ADMIN, account="shop-1"))
    both = add_person(database_url, Role.VIEWER, account="shop-1")
    other = add_person(database_url, Role.VIEWER, account="shop-2")
    elsewhere = records.RoleGrant(user_id="shop-2", role=Role.LEAD)
    stored(database_url, lambda each: records.grant_role(each, both.person_id, elsewhere, granted_by="test"))
    for what in ("password", "disable", "sign_out", "unlock", "enable"):
        for person in (both, other):
            assert admin.post(f"/people/{person.person_id}/manage", what=what).status_code == 403
    listed = admin.get("/people").text

    assert "shop-2" not in listed + admin.get(f"/people/{both.person_id}").text
    assert other.login not in listed
    assert admin.get(f"/people/{other.person_id}").status_code == 404


def test_the_last_administrator_of_every_account_stays(stack_url: str) -> None:
    """Neither their role nor their access can be taken, until there is another one."""
    last = add_person(stack_url, Role.ACCOUNT_ADMIN)
    with site(stack_url) as visitors:
        admin = signed_in(visitors, last)
        path = f"/people/{last.person_id}"
        take = {"role": "account_admin", "account": EVERY_ACCOUNT}

        assert admin.post(f"{path}/revoke", **take).status_code == 409
        assert admin.post(f"{path}/manage", what="disable").status_code == 409

        add_person(stack_url, Role.ACCOUNT_ADMIN)

        assert admin.post(f"{path}/revoke", **take).status_code == 303
    assert again(stack_url, last).grants == ()


@pytest.fixture
def stack_url(database_url: str) -> str:
    """The module's database without administrators of every account."""
    with World(database_url, "none") as world:
        world._connection.execute("DELETE FROM person_roles WHERE user_id = '*'")
    return database_url


def test_losing_a_role_works_at_once(database_url: str, visitors: Visitors) -> None:
    """The next page of a running session knows it."""
    person = add_person(database_url, Role.ACCOUNT_ADMIN, account="shop-3")
    other = add_person(database_url, Role.ACCOUNT_ADMIN, account="shop-3")
    admin, guest = signed_in(visitors, other), signed_in(visitors, person)
    assert guest.get("/people").status_code == 200
    taken = admin.post(f"/people/{person.person_id}/revoke", role="account_admin", account="shop-3")

    assert taken.status_code == 303
    assert guest.get("/people").status_code == 403


def test_changes_and_reads_are_in_the_access_log_for_auditors_of_the_account(
    database_url: str, visitors: Visitors
) -> None:
    """With person, action and login; lines of other accounts, or of none, are for auditors of all."""
    admin = signed_in(visitors, add_person(database_url, Role.ACCOUNT_ADMIN, account="shop-4"))
    admin.post("/people", login="audited@example.org", role="viewer", account="shop-4")
    auditor = signed_in(visitors, add_person(database_url, Role.AUDITOR, account="shop-4"))
    everywhere = signed_in(visitors, add_person(database_url, Role.AUDITOR))
    elsewhere = signed_in(visitors, add_person(database_url, Role.AUDITOR, account="shop-5"))
    mine, all_of_it = auditor.get("/access-log").text, everywhere.get("/access-log").text

    assert "audited@example.org" in mine
    assert "Signed in" not in mine.split("<tbody>")[1]
    assert "Signed in" in all_of_it.split("<tbody>")[1]
    assert "audited@example.org" not in elsewhere.get("/access-log").text
    assert "audited@example.org" not in elsewhere.get("/access-log?account=shop-4").text

    everywhere.get("/access-log?person=person-asked-for")
    assert "person-asked-for" in everywhere.get("/access-log?action=audit").text


def test_the_access_log_is_paged_without_gaps(database_url: str, visitors: Visitors) -> None:
    """Older pages go on exactly where the newer one ended, while new lines come."""
    with World(database_url, "shop-6") as world:
        for number in range(250):
            world.add("access_log", action="read", person=f"reader-{number}", user_id="shop-6")
    auditor = signed_in(visitors, add_person(database_url, Role.AUDITOR))
    seen: list[str] = []
    path: str | None = "/access-log?account=shop-6&action=read"
    while path:
        text = auditor.get(path).text
        seen += re.findall(r"reader-\d+", text)
        found = re.search(r'href="(/access-log\?[^"]*cursor[^"]*)"', text)
        path = found[1].replace("&amp;", "&") if found else None

    assert seen == [f"reader-{number}" for number in reversed(range(250))]


@pytest.mark.parametrize(
    "query",
    [
        "action=fly",
        "since=yesterday",
        "since=0001-01-01",
        "decision=7",
        "cursor=x",
        "cursor=2026-01-01T00:00:00~1",
        "cursor=2026-01-01T00:00:00%2B00:00~99999999999999999999",
        f"person={'x' * 10_000}",
    ],
)
def test_a_filter_of_the_access_log_that_cannot_be_used_is_named(
    database_url: str, visitors: Visitors, query: str
) -> None:
    """400 with what was expected, never 500; the form stays, with what was typed."""
    auditor = signed_in(visitors, add_person(database_url, Role.AUDITOR))
    answer = auditor.get(f"/access-log?{query}&until=2026-11-01")

    assert answer.status_code == 400
    assert f"{query.partition('=')[0]}: expected" in answer.text
    assert 'name="until" value="2026-11-01"' in answer.text
    assert auditor.get("/access-log?account=%00").status_code == 400


def test_a_time_of_the_access_log_may_be_an_age(database_url: str, visitors: Visitors) -> None:
    """As in the list of decisions."""
    auditor = signed_in(visitors, add_person(database_url, Role.AUDITOR))
    auditor.get("/access-log?person=asked-before")

    assert "asked-before" in auditor.get("/access-log?action=audit&since=1h").text
    assert "asked-before" not in auditor.get("/access-log?action=audit&until=1h").text


def test_a_refusal_names_the_right_the_account_and_the_roles(database_url: str, visitors: Visitors) -> None:
    """In words: the action, the account, and who can give which role."""
    decided = replied(user_id="shop-8")
    record(database_url, decided)
    person = add_person(database_url, Role.VIEWER, account="shop-8")
    elsewhere = records.RoleGrant(user_id="shop-9", role=Role.REVIEWER)
    stored(
        database_url, lambda each: records.grant_role(each, person.person_id, elsewhere, granted_by="test")
    )
    viewer = signed_in(visitors, person)
    here = viewer.post(f"/decisions/{decided.decision_id}/review", ruling="agree")
    anywhere = viewer.get("/people")

    assert (here.status_code, anywhere.status_code) == (403, 403)
    assert (
        "You may not review decisions on account shop-8. Its administrators can give you a role that may:"
        " reviewer, lead, owner." in here.text
    )
    assert "You may not change settings or people on any account." in anywhere.text
    assert all(f"{right.value!r}" not in each.text for each in (here, anywhere) for right in Right)
