"""Invitations: an account's administrator learns nothing about a login, and cannot sign in with it."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import psycopg
import pytest

from db.people import invitations, records
from db.people.records import EVERY_ACCOUNT, Person, Role, RoleGrant
from review.people.people_page import PER_HOUR
from tests.support.audited import record, replied
from tests.support.reviewing import PASSWORD, Visitor, Visitors, add_person, api_token, stored, token_status

CHOSEN = "seven quiet herons at noon"
OTHER = "nine loud geese after dusk"
LINK = re.compile(r"https://127\.0\.0\.1(/invitation/[\w-]{43})")
NUMBERS = count(1)
VARYING = re.compile(
    r"(?<=invitation/)[\w-]{43}|(?<=invitation%2F)[\w-]{43}|datetime=\"[^\"]*\"|(?<=value=\")[0-9a-f]{64}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    r"|<time[^>]*>[^<]*</time>|data-now=\"[^\"]*\"|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d|10\.0\.\d+\.\d+"
)
"""What differs between any two pages: tokens of links and forms, ids, times, addresses."""


@pytest.fixture
def login() -> str:
    """A login that no person has."""
    return f"new-{next(NUMBERS)}@example.org"


def signed_in(visitors: Visitors, person: Person, password: str = PASSWORD) -> Visitor:
    """The person at their profile."""
    visitor = visitors()
    visitor.get("/sign-in")
    assert visitor.post("/sign-in", login=person.login, password=password).status_code == 303
    visitor.get("/profile")
    return visitor


def admin_of(visitors: Visitors, url: str, account: str) -> Visitor:
    """An administrator of one account, or of every account."""
    return signed_in(visitors, add_person(url, Role.ACCOUNT_ADMIN, account=account))


def invited(admin: Visitor, login: str, account: str, role: str = "viewer") -> str:
    """The path of a new invitation's link."""
    admin.get("/people")
    page = admin.post("/people", login=login, role=role, account=account)
    found = LINK.search(page.text)
    assert found is not None, page.text
    return found[1]


def joined(visitors: Visitors, path: str, password: str = CHOSEN) -> tuple[Visitor, Any]:
    """A visitor without a session who opens a link and chooses a password; the answer."""
    visitor = visitors()
    visitor.get("/sign-in")
    return visitor, visitor.post(f"{path}/join", name="Sam", new=password, again=password)


def accepted_as_new(visitors: Visitors, path: str, login: str) -> tuple[Visitor, Any]:
    """A visitor who chooses a password at a link, signs in with it and accepts; the last answer."""
    visitor, chosen = joined(visitors, path)
    assert chosen.status_code == 303
    assert visitor.get(chosen.headers["location"]).status_code == 200
    back = visitor.post("/sign-in", login=login, password=CHOSEN, next=path)
    assert back.headers["location"] == path
    visitor.get(path)
    return visitor, visitor.post(f"{path}/accept")


def find_person(url: str, login: str) -> Person | None:
    """A person as stored now."""
    found = stored(url, lambda each: records.get_credentials(each, login))
    return found.person if found else None


def roles(url: str, login: str) -> list[tuple[str, str]]:
    """The roles of a person, none when there is no such person."""
    found = find_person(url, login)
    return [(each.user_id, each.role.value) for each in found.grants] if found else []


def signs_in(visitors: Visitors, login: str, password: str) -> bool:
    """Whether a login and a password give a session."""
    visitor = visitors()
    visitor.get("/sign-in")
    return visitor.post("/sign-in", login=login, password=password).status_code == 303


def same(response: Any, *names: str) -> tuple[int, dict[str, str], tuple[str, ...]]:
    """An answer without what differs between any two answers, nor these logins and accounts."""
    headers = {
        key: VARYING.sub("", value)
        for key, value in response.headers.items()
        if key not in {"content-length", "set-cookie"}
    }
    text = VARYING.sub("", response.text)
    for name in names:
        text = text.replace(name, "NAME")
    return response.status_code, headers, tuple(text.splitlines())


def after_a_chosen_password(visitors: Visitors, path: str, login: str) -> list[Any]:
    """What the holder of a link sees who chooses a password, and later chooses others."""
    holder, chosen = joined(visitors, path)
    cookies = chosen.headers.get_list("set-cookie")
    assert [(each.partition("=")[0], "Max-Age=0" in each) for each in cookies] == [("__Host-hushgate", True)]
    seen = [chosen, holder.get(chosen.headers["location"])]
    seen.append(holder.post("/sign-in", login=login, password=OTHER, next=path))
    return [*seen, holder.get(path), *(joined(visitors, path, OTHER)[1] for _ in range(5))]


def test_an_inviter_gets_the_same_answers_for_a_new_and_for_an_existing_login(
    visitors: Visitors, database_url: str
) -> None:
    """Status, headers and body of every page that the inviter sees, until the invitation is accepted."""
    person = add_person(database_url, Role.VIEWER, account="elsewhere", login="known@example.org")
    seen = []
    for login, account in (("fresh@example.org", "twin-1"), (person.login, "twin-2")):
        admin = signed_in(
            visitors,
            add_person(database_url, Role.ACCOUNT_ADMIN, Role.AUDITOR, account=account, login=f"a-{account}"),
        )
        admin.get("/people")
        made = admin.post("/people", login=login, role="reviewer", account=account)
        link = LINK.search(made.text)
        assert link is not None
        shown = re.search(r"/people/invitations/[0-9a-f-]{36}/withdraw", made.text)
        assert shown is not None
        answers = [
            made,
            admin.get("/people"),
            admin.get("/access-log?action=people"),
            admin.get(link[1]),
            admin.post(f"{link[1]}/accept"),
            admin.post(f"{link[1]}/join", new="short", again="short"),
            admin.post("/people", login=login, role="lead", account=account),
            admin.get("/people?again"),
            visitors().get(link[1]),
            *after_a_chosen_password(visitors, link[1], login),
            admin.get("/people?joined"),
            admin.get("/access-log?action=people"),
            admin.get("/access-log?action=sign_in_refused"),
            admin.get(link[1]),
            admin.post(shown[0]),
            admin.get("/people"),
        ]
        seen.append([same(each, login, account, account.title()) for each in answers])

    for fresh, known in zip(*seen, strict=True):
        assert [line for line in fresh[2] if line not in known[2]] == []
        assert fresh == known
    before, holder = [200, 200, 200, 200, 409, 400, 200, 200, 200], [303, 200, 401, 200, *[303] * 4, 429]
    assert [status for status, *_ in seen[0]] == [*before, *holder, 200, 200, 200, 200, 303, 200]


def test_a_new_person_chooses_a_password_and_gets_the_role(
    visitors: Visitors, database_url: str, login: str
) -> None:
    """The people page lists the login as invited before, and as a person after."""
    admin = admin_of(visitors, database_url, "north")
    path = invited(admin, login.upper(), "north", "reviewer")
    before = admin.get("/people").text
    sam, answer = accepted_as_new(visitors, path, login)
    after = admin.get("/people").text

    assert answer.status_code == 303
    assert ("invited</span>" in before, f"<bdi>{login}</bdi>" in before) == (True, True)
    assert "Sam" in after
    assert roles(database_url, login) == [("north", "reviewer")]
    assert "reviewer on" in sam.get("/profile").text
    assert signs_in(visitors, login, CHOSEN)


@pytest.mark.parametrize(
    "fields",
    [
        {"new": "short", "again": "short"},
        {"new": CHOSEN, "again": OTHER},
        {"new": CHOSEN, "again": CHOSEN, "name": "n" * 101},
    ],
)
def test_a_password_that_the_policy_refuses_creates_no_person(
    visitors: Visitors, database_url: str, login: str, fields: dict[str, str]
) -> None:
    """The page says why, and the link works on."""
    path = invited(admin_of(visitors, database_url, "north"), login, "north")
    sam = visitors()
    sam.get(path)
    refused = sam.post(f"{path}/join", **fields)

    assert refused.status_code == 400
    assert find_person(database_url, login) is None
    assert joined(visitors, path)[1].status_code == 303


def test_an_existing_person_accepts_after_signing_in(visitors: Visitors, database_url: str) -> None:
    """The link leads through the sign-in and back; the role is added to the others."""
    person = add_person(database_url, Role.LEAD, account="south")
    admin = admin_of(visitors, database_url, "north")
    path = invited(admin, person.login, "north")
    visitor = visitors()
    visitor.get(path)
    back = visitor.post("/sign-in", login=person.login, password=PASSWORD, next=path)
    page = visitor.get(path)
    accepted = visitor.post(f"{path}/accept")

    assert (back.status_code, back.headers["location"]) == (303, path)
    assert "New password" not in page.text
    assert accepted.status_code == 303
    assert roles(database_url, person.login) == [("north", "viewer"), ("south", "lead")]
    assert "south" not in admin.get(f"/people/{person.person_id}").text


def test_an_inviter_cannot_take_over_an_existing_login(visitors: Visitors, database_url: str) -> None:
    """Neither by accepting, nor by choosing a password; the attempts are logged, and wait after several."""
    person = add_person(database_url, Role.LEAD, account="south")
    admin = admin_of(visitors, database_url, "north")
    path = invited(admin, person.login, "north")
    accepted = admin.post(f"{path}/accept").status_code
    attempts = [joined(visitors, path)[1].status_code for _ in range(6)]
    with psycopg.connect(database_url) as connection:
        lines = connection.execute(
            "SELECT count(*) FROM access_log WHERE action = 'sign_in_refused' AND user_id IS NULL"
            " AND detail ->> 'login' = %s",
            (person.login,),
        ).fetchone()

    assert (accepted, attempts) == (409, [303] * 5 + [429])
    assert lines == (5,)
    assert roles(database_url, person.login) == [("south", "lead")]
    assert signs_in(visitors, person.login, PASSWORD)
    assert not signs_in(visitors, person.login, CHOSEN)


def test_chosen_passwords_are_counted_for_the_inviter_until_one_is_accepted(
    visitors: Visitors, database_url: str, login: str
) -> None:
    """After twenty links of one inviter the next waits; a link of another inviter does not."""
    admin = admin_of(visitors, database_url, "north")
    paths = [invited(admin, f"{number}-{login}", "north") for number in range(22)]
    statuses = [joined(visitors, each)[1].status_code for each in paths[:21]]
    other = invited(admin_of(visitors, database_url, "south"), login, "south")
    beyond = joined(visitors, other)[1].status_code
    person = find_person(database_url, f"0-{login}")
    assert person is not None
    sam = signed_in(visitors, person, CHOSEN)
    accepted = sam.post(f"{paths[0]}/accept").status_code

    assert (statuses, beyond) == ([303] * 20 + [429], 303)
    assert (accepted, joined(visitors, paths[21])[1].status_code) == (303, 303)


def test_a_stranger_without_the_link_cannot_accept(visitors: Visitors, database_url: str) -> None:
    """The sign-in is not enough: a password that an administrator elsewhere knows opens no other account."""
    person = add_person(database_url, Role.LEAD, account="south")
    invited(admin_of(visitors, database_url, "north"), person.login, "north")
    thief = signed_in(visitors, person)

    assert "north" not in thief.get("/profile").text
    assert thief.post("/invitation/guessed/accept").status_code == 410


def test_an_inviter_who_joined_as_the_invited_person_gets_no_other_account(
    visitors: Visitors, database_url: str, login: str
) -> None:
    """Accepting elsewhere needs a new password; sessions, API tokens and invitations of the old one end."""
    thief, answer = accepted_as_new(
        visitors, invited(admin_of(visitors, database_url, "north"), login, "north", "account_admin"), login
    )
    assert answer.status_code == 303
    token = api_token(thief)
    planted = invited(thief, f"planted-{login}", "north")
    path = invited(admin_of(visitors, database_url, "south"), login, "south")
    owner = visitors()
    owner.get("/sign-in")
    owner.post("/sign-in", login=login, password=CHOSEN)
    page = owner.get(path)
    unchanged = owner.post(f"{path}/accept").status_code
    accepted = owner.post(f"{path}/accept", new=OTHER, again=OTHER).status_code

    assert "New password" in page.text
    assert (unchanged, accepted) == (400, 303)
    assert roles(database_url, login) == [("north", "account_admin"), ("south", "viewer")]
    assert thief.get("/profile").status_code == 303
    assert token_status(visitors, token) == 401
    assert visitors().get(planted).status_code == 410
    assert not signs_in(visitors, login, CHOSEN)
    assert signs_in(visitors, login, OTHER)
    assert owner.get("/profile").status_code == 200


def test_a_later_role_on_the_same_account_needs_no_new_password(
    visitors: Visitors, database_url: str, login: str
) -> None:
    """The inviter administers that account; a role on another account of theirs is an invitation again."""
    both = add_person(database_url, Role.ACCOUNT_ADMIN, account="north")
    elsewhere = RoleGrant(user_id="east", role=Role.ACCOUNT_ADMIN)
    stored(database_url, lambda each: records.grant_role(each, both.person_id, elsewhere, granted_by="test"))
    admin = signed_in(visitors, both)
    sam, _ = accepted_as_new(visitors, invited(admin, login, "north"), login)
    person = find_person(database_url, login)
    assert person is not None
    admin.get("/people")
    here = admin.post(f"/people/{person.person_id}/grant", role="lead", account="north")
    there = admin.post(f"/people/{person.person_id}/grant", role="lead", account="east")
    link = LINK.search(there.text)
    assert link is not None
    sam.get(link[1])

    assert here.status_code == 303
    assert roles(database_url, login) == [("north", "lead"), ("north", "viewer")]
    assert sam.post(f"{link[1]}/accept").status_code == 303
    assert ("east", "lead") in roles(database_url, login)


def test_a_role_after_the_inviter_has_left_is_an_invitation(
    visitors: Visitors, database_url: str, login: str
) -> None:
    """A leaver may know the password: the next administrator of the account cannot raise it unnoticed."""
    leaver = add_person(database_url, Role.ACCOUNT_ADMIN, account="north")
    accepted_as_new(visitors, invited(signed_in(visitors, leaver), login, "north"), login)
    admin_of(visitors, database_url, EVERY_ACCOUNT).post(
        f"/people/{leaver.person_id}/revoke", role="account_admin", account="north"
    )
    person = find_person(database_url, login)
    assert person is not None
    admin = admin_of(visitors, database_url, "north")
    asked = admin.post(f"/people/{person.person_id}/grant", role="lead", account="north")

    assert LINK.search(asked.text) is not None
    assert roles(database_url, login) == [("north", "viewer")]


def test_a_link_works_once(visitors: Visitors, database_url: str, login: str) -> None:
    """Opened again, by its user or another visitor, it is gone."""
    path = invited(admin_of(visitors, database_url, "north"), login, "north")
    visitor, first = accepted_as_new(visitors, path, login)

    assert first.status_code == 303
    assert visitors().get(path).status_code == 410
    assert joined(visitors, path)[1].status_code == 410
    visitor.get("/profile")
    assert visitor.post(f"{path}/accept").status_code == 410


@pytest.mark.parametrize(
    "end", ["expired", "withdrawn", "replaced", "inviter disabled", "inviter lost the role"]
)
def test_a_link_that_ended_gives_nothing(visitors: Visitors, database_url: str, login: str, end: str) -> None:
    """For a new login and for an existing one; the people page does not list it."""
    inviter = add_person(database_url, Role.ACCOUNT_ADMIN, account="north")
    admin, boss = signed_in(visitors, inviter), admin_of(visitors, database_url, EVERY_ACCOUNT)
    person = add_person(database_url)
    member = signed_in(visitors, person)
    paths = [invited(admin, each, "north", "lead") for each in (login, person.login)]
    if end == "replaced":
        for each in (login, person.login):
            invited(admin, each, "north", "lead")
    elif end == "inviter disabled":
        boss.post(f"/people/{inviter.person_id}/manage", what="disable")
    elif end == "inviter lost the role":
        boss.post(f"/people/{inviter.person_id}/revoke", role="account_admin", account="north")
    elif end == "withdrawn":
        for shown in re.findall(r'action="(/people/invitations/[^"]+)"', admin.get("/people").text):
            assert admin.post(shown).status_code == 303
            assert admin.post(shown).status_code == 404
    else:
        with psycopg.connect(database_url) as connection:
            connection.execute("UPDATE invitations SET expires_at = now()")
    listed = f"<bdi>{login}</bdi>" in boss.get("/people").text
    answers = [joined(visitors, paths[0])[1], member.get(paths[1]), member.post(f"{paths[1]}/accept")]

    assert listed == (end == "replaced")
    assert [each.status_code for each in answers] == [410] * 3
    assert (find_person(database_url, login), roles(database_url, person.login)) == (None, [])


def test_of_two_who_choose_a_password_at_once_one_is_let_in(
    visitors: Visitors, database_url: str, login: str
) -> None:
    """A race for one link gives one person with one password, and the same answer to both."""
    path = invited(admin_of(visitors, database_url, "north"), login, "north")
    racers = [visitors(), visitors()]
    for each in racers:
        each.get(path)
    with ThreadPoolExecutor(2) as pool:
        answers = list(
            pool.map(
                lambda pair: pair[0].post(f"{path}/join", new=pair[1], again=pair[1]).status_code,
                zip(racers, (CHOSEN, OTHER), strict=True),
            )
        )

    assert answers == [303, 303]
    assert roles(database_url, login) == []
    assert sorted(signs_in(visitors, login, each) for each in (CHOSEN, OTHER)) == [False, True]


def test_of_two_accounts_that_invite_the_same_new_login_the_first_creates_it(
    visitors: Visitors, database_url: str, login: str
) -> None:
    """The second needs the sign-in, although its link was made before the person existed."""
    first = invited(admin_of(visitors, database_url, "north"), login, "north")
    second = invited(admin_of(visitors, database_url, "south"), login, "south")

    assert accepted_as_new(visitors, first, login)[1].status_code == 303
    assert joined(visitors, second, OTHER)[1].status_code == 303
    assert not signs_in(visitors, login, OTHER)
    assert roles(database_url, login) == [("north", "viewer")]


def test_an_administrator_of_another_account_withdraws_nothing(
    visitors: Visitors, database_url: str, login: str
) -> None:
    """404, as for an invitation that never was; the list of another account does not show it."""
    admin, other = admin_of(visitors, database_url, "north"), admin_of(visitors, database_url, "south")
    path = invited(admin, login, "north")
    shown = re.findall(r'action="(/people/invitations/[^"]+)"', admin.get("/people").text)
    listed = other.get("/people").text

    assert [other.post(each).status_code for each in shown] == [404] * len(shown)
    assert other.post("/people/invitations/7/withdraw").status_code == 404
    assert login not in listed
    assert visitors().get(path).status_code == 200


def test_invitations_are_limited_in_an_hour_and_deleted_once_expired(
    visitors: Visitors, database_url: str
) -> None:
    """Withdrawn and replaced ones count; the sweep deletes rows and leaves open ones."""
    person = add_person(database_url, Role.ACCOUNT_ADMIN, account="north")
    admin, now = signed_in(visitors, person), datetime.now(UTC)
    wanted = RoleGrant(user_id="north", role=Role.VIEWER)

    async def many(connection: Any) -> None:
        for number in range(PER_HOUR):
            await invitations.add_invitation(
                connection, f"t{number}", login="same", wanted=wanted, invited_by=person.person_id, now=now
            )

    stored(database_url, many)
    refused = admin.post("/people", login="one-more", role="viewer", account="north")
    week = now + timedelta(days=7)
    stored(
        database_url,
        lambda each: invitations.delete_expired_invitations(each, now=week - timedelta(seconds=1)),
    )
    kept = stored(database_url, lambda each: invitations.list_invitations(each, ("north",), now=now))
    stored(database_url, lambda each: invitations.delete_expired_invitations(each, now=week))
    with psycopg.connect(database_url) as connection:
        left = connection.execute("SELECT 1 FROM invitations WHERE login = 'same'").fetchone()

    assert (refused.status_code, int(refused.headers["Retry-After"]) > 0) == (429, True)
    assert [each.login for each in kept if each.invited_by == person.person_id] == ["same"]
    assert left is None


def test_passwords_and_access_are_for_administrators_of_every_account(
    visitors: Visitors, database_url: str
) -> None:
    """No form and the same refusal for a person of one account, of two, and of none that exists."""
    admin, boss = admin_of(visitors, database_url, "north"), admin_of(visitors, database_url, EVERY_ACCOUNT)
    own = add_person(database_url, Role.VIEWER, account="north")
    both = add_person(database_url, Role.VIEWER, account="north")
    wanted = RoleGrant(user_id="south", role=Role.VIEWER)
    stored(database_url, lambda each: records.grant_role(each, both.person_id, wanted, granted_by="test"))
    pages = {same(admin.get(f"/people/{each.person_id}"), each.login, each.name)[2] for each in (own, both)}
    ids = (own.person_id, both.person_id, "01a20038-0a4e-7283-be93-352da35370fd")
    refusals = {same(admin.post(f"/people/{each}/manage", what="unlock"), "")[::2] for each in ids}

    assert len(pages) == 1
    assert "Sign out everywhere" not in "".join(pages.pop())
    assert len(refusals) == 1
    assert refusals.pop()[0] == 403
    assert "Sign out everywhere" in boss.get(f"/people/{own.person_id}").text


def test_the_access_log_of_the_account_has_every_step(
    visitors: Visitors, database_url: str, login: str
) -> None:
    """Invited, withdrawn and accepted, each with the login and who did it."""
    admin = admin_of(visitors, database_url, "west")
    invited(admin, login, "west", "lead")
    for shown in re.findall(r'action="(/people/invitations/[^"]+)"', admin.get("/people").text):
        admin.post(shown)
    accepted_as_new(visitors, invited(admin, login, "west"), login)
    with psycopg.connect(database_url) as connection:
        lines = connection.execute(
            "SELECT detail ->> 'changed', detail ->> 'role', person = %s FROM access_log"
            " WHERE user_id = 'west' AND detail ->> 'login' = %s ORDER BY id",
            (login, login),
        ).fetchall()

    assert lines == [
        ("invited", "lead", False),
        ("invitation withdrawn", "lead", False),
        ("invited", "viewer", False),
        ("invitation accepted", "viewer", True),
    ]


def test_a_login_is_assigned_an_item_only_where_it_may_review(visitors: Visitors, database_url: str) -> None:
    """An account's lead gets the same refusal for a login of another account and for one that is free."""
    decided = replied(user_id="north")
    record(database_url, decided)
    elsewhere = add_person(database_url, Role.REVIEWER, account="south")
    here = add_person(database_url, Role.REVIEWER, account="north")
    lead = signed_in(visitors, add_person(database_url, Role.LEAD, account="north"))
    answers = [
        same(lead.post(f"/decisions/{decided.decision_id}/pick", login=each), each)[::2]
        for each in (elsewhere.login, "free@example.org")
    ]

    accepted = lead.post(f"/decisions/{decided.decision_id}/pick", login=here.login)

    assert answers[0] == answers[1]
    assert "the login of a reviewer of this account" in "".join(answers[0][1])
    assert "No such queue" in accepted.text
