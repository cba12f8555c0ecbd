"""Signing in and out of the review pages."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest

from db.people import (
    changes,
    records,
    sessions,
    sign_ins,
)
from db.people.records import Person, Role
from review.auth import passwords
from review.auth.credentials import FROM_ADDRESS
from review.http.visit import csrf_token
from tests.support.reviewing import ADDRESS, PASSWORD, Visitor, Visitors, add_person, signed_in, stored

SESSION = "__Host-hushgate"


def try_password(guest: Visitor, login: str, password: str) -> int:
    """The status of one attempt."""
    guest.get("/sign-in")
    return int(guest.post("/sign-in", login=login, password=password, next="/").status_code)


def link_for(url: str, person: Person, *, now: datetime | None = None) -> str:
    """The token of a new sign-in link of a person."""
    token = f"link of {person.login}"
    stored(url, lambda each: sign_ins.add_link(each, token, person.person_id, now=now or datetime.now(UTC)))
    return token


def test_a_stranger_is_asked_to_sign_in_and_comes_back_to_the_page(
    database_url: str, visitors: Visitors
) -> None:
    """Strangers get no page; after the sign-in they land on the page they asked for."""
    person = add_person(database_url, Role.VIEWER)
    guest = visitors()
    asked = guest.get("/?x=1", follow=True)

    assert 'name="next" value="/?x=1"' in asked.text

    done = guest.post("/sign-in", login=person.login, password=PASSWORD, next="/?x=1")

    assert (done.status_code, done.headers["location"]) == (303, "/?x=1")
    assert guest.get("/").status_code == 200


def test_signing_out_ends_the_session(database_url: str, visitors: Visitors) -> None:
    """A copy of the cookie opens no page either."""
    guest = signed_in(visitors, add_person(database_url, Role.VIEWER))
    kept = guest.client.cookies.get(SESSION)

    assert guest.post("/sign-out").status_code == 303

    guest.client.cookies.set(SESSION, kept or "", domain="127.0.0.1")
    assert guest.get("/").headers["location"] == "/sign-in?next=%2F"


def test_cookies_are_for_this_host_over_https_and_for_no_script(
    database_url: str, visitors: Visitors
) -> None:
    """Every cookie has the __Host- prefix and the three attributes."""
    guest = visitors()
    guest.get("/sign-in")
    person = add_person(database_url, Role.VIEWER)
    done = guest.post("/sign-in", login=person.login, password=PASSWORD)
    cookies = done.headers.get_list("set-cookie")

    assert len(cookies) == 3
    for cookie in cookies:
        assert cookie.startswith("__Host-hushgate")
        assert {"HttpOnly", "Secure", "Path=/", "SameSite=lax"} <= set(cookie.split("; "))


def test_signing_in_makes_a_new_session_and_ends_the_one_before(
    database_url: str, visitors: Visitors
) -> None:
    """A cookie planted before the sign-in is not signed in."""
    person = add_person(database_url, Role.VIEWER)
    guest = signed_in(visitors, person)
    first = guest.client.cookies.get(SESSION) or ""
    planted = visitors()
    planted.client.cookies.set(SESSION, first, domain="127.0.0.1")
    planted.client.get("/profile")
    planted.csrf = csrf_token(first)
    done = planted.post("/sign-in", login=person.login, password=PASSWORD)

    assert done.status_code == 303
    assert planted.client.cookies.get(SESSION, domain="127.0.0.1") != first
    assert guest.get("/profile").status_code == 303


@pytest.mark.parametrize(
    "target", ["//evil.example", "https://evil.example", "/\\evil.example", "/\t/evil.example", "evil"]
)
def test_signing_in_leads_to_no_other_site(database_url: str, visitors: Visitors, target: str) -> None:
    """A link to the sign-in page cannot be used to send people elsewhere."""
    person = add_person(database_url, Role.VIEWER)
    guest = visitors()
    guest.get("/sign-in")
    done = guest.post("/sign-in", login=person.login, password=PASSWORD, next=target)

    assert done.headers["location"] == "/"


def test_after_five_wrong_passwords_there_is_a_wait(database_url: str, visitors: Visitors) -> None:
    """The right password is refused during the wait; unknown logins wait as well."""
    person = add_person(database_url, Role.VIEWER)
    stranger = visitors()
    for login in (person.login, "unknown@example.org"):
        assert [try_password(stranger, login, "wrong") for _ in range(6)] == [401] * 5 + [429]

    stranger.get("/sign-in")
    waiting = stranger.post("/sign-in", login=person.login, password=PASSWORD)

    assert waiting.status_code == 429
    assert 25 <= int(waiting.headers["retry-after"]) <= 30


def test_strangers_cannot_lock_a_person_out_of_their_own_browser(
    database_url: str, visitors: Visitors
) -> None:
    """A browser that has signed in before is counted separately."""
    person = add_person(database_url, Role.VIEWER)
    own = signed_in(visitors, person)
    own.post("/sign-out")
    stranger = visitors()
    for _ in range(6):
        try_password(stranger, person.login, "wrong")

    assert try_password(stranger, person.login, PASSWORD) == 429
    assert try_password(own, person.login, PASSWORD) == 303


def test_the_addresses_of_one_ipv6_network_are_one_client(visitors: Visitors) -> None:
    """A home has 2^64 of them: one by one, they would use up what all strangers may try together."""

    def tried(address: str) -> int:
        guest = visitors()
        guest.client._transport.client = (address, 50_000)  # type: ignore[attr-defined]
        return try_password(guest, f"stranger at {address}", "wrong")

    ended = [tried(f"2001:db8::{number:x}") for number in range(FROM_ADDRESS + 1)]
    other = tried("2001:db8:0:1::1")

    assert ended == [401] * FROM_ADDRESS + [429]
    assert other == 401


def test_a_device_cookie_is_invalid_for_another_login(database_url: str, visitors: Visitors) -> None:
    """A person's own cookie does not exempt guesses of other logins from counting."""
    own = signed_in(visitors, add_person(database_url, Role.VIEWER))
    own.post("/sign-out")
    other = add_person(database_url, Role.VIEWER)
    for _ in range(6):
        status = try_password(own, other.login, "wrong")

    assert status == 429
    assert try_password(visitors(), other.login, PASSWORD) == 429


def test_a_first_password_must_be_replaced_first_of_all(database_url: str, visitors: Visitors) -> None:
    """Every page leads to the form; afterwards the new password works and the old does not."""
    person = add_person(database_url, Role.VIEWER)
    first = passwords._HASHER.hash(PASSWORD)
    stored(
        database_url,
        lambda each: changes.give_password(each, person, first, given_by=None),
    )
    guest = visitors()
    guest.get("/sign-in")
    guest.post("/sign-in", login=person.login, password=PASSWORD)

    assert guest.get("/").headers["location"] == "/profile/password"
    guest.get("/profile/password")
    assert guest.post("/profile", name="X").headers["location"] == "/profile/password"

    new = "green chairs on the roof"
    for wrong in ("short", PASSWORD, person.login * 3, "abcdefghijklmnop", "Password12345"):
        refused = guest.post("/profile/password", current=PASSWORD, new=wrong, again=wrong)
        assert (refused.status_code, 'role="alert"' in refused.text) == (400, True), wrong
    unlike = guest.post("/profile/password", current=PASSWORD, new=new, again=new + "x")
    assert unlike.status_code == 400
    done = guest.post("/profile/password", current=PASSWORD, new=new, again=new)

    assert done.headers["location"] == "/?saved=password"
    assert guest.get("/").status_code == 200
    assert try_password(visitors(), person.login, PASSWORD) == 401
    assert try_password(visitors(), person.login, new) == 303


def test_a_link_signs_in_once_and_opening_it_does_not_use_it_up(
    database_url: str, visitors: Visitors
) -> None:
    """Mail scanners open links; only the button signs in, once."""
    person = add_person(database_url, Role.VIEWER)
    token = link_for(database_url, person)
    for _ in range(3):
        page = visitors().get(f"/sign-in/link?token={token}")
    assert (page.status_code, token in page.text) == (200, True)
    guest, late = visitors(), visitors()
    guest.get(f"/sign-in/link?token={token}")
    late.get(f"/sign-in/link?token={token}")

    assert guest.post("/sign-in/link", token=token).status_code == 303
    assert guest.get("/").status_code == 200
    assert late.post("/sign-in/link", token=token).status_code == 410


def test_a_link_ends_after_15_minutes_and_with_the_next_one(database_url: str, visitors: Visitors) -> None:
    """An old link in a terminal's history does not work."""
    person = add_person(database_url, Role.VIEWER)
    old = link_for(database_url, person, now=datetime.now(UTC) - timedelta(minutes=16))
    guest = visitors()
    guest.get(f"/sign-in/link?token={old}")

    assert guest.post("/sign-in/link", token=old).status_code == 410


def test_disabling_a_person_works_at_once(database_url: str, visitors: Visitors) -> None:
    """Neither the session nor the password nor a link works any more."""
    person = add_person(database_url, Role.VIEWER)
    guest = signed_in(visitors, person)
    token = link_for(database_url, person)
    now = datetime.now(UTC)
    stored(database_url, lambda each: changes.disable_person(each, person.person_id, now=now))

    assert guest.get("/profile").status_code == 303
    assert try_password(visitors(), person.login, PASSWORD) == 401
    late = visitors()
    late.get(f"/sign-in/link?token={token}")
    assert late.post("/sign-in/link", token=token).status_code == 410


@pytest.mark.parametrize(("age", "unused"), [(86_401, 0), (40_000, 28_801)])
def test_a_session_ends_after_a_time_and_when_it_is_not_used(
    database_url: str, visitors: Visitors, age: int, unused: int
) -> None:
    """A day in any case, eight hours without a page."""
    person, token = add_person(database_url, Role.VIEWER), f"token {age}"
    now = datetime.now(UTC)
    begun = now - timedelta(seconds=age)
    day = timedelta(days=1)
    stored(
        database_url,
        lambda each: sessions.start_session(each, token, person.person_id, now=begun, lasts=day, address=""),
    )
    last = now - timedelta(seconds=unused)
    stored(database_url, lambda each: sessions.mark_seen(each, token, now=last))
    guest = visitors()
    guest.client.cookies.set(SESSION, token, domain="127.0.0.1")

    assert guest.get("/profile").status_code == 303


def test_a_password_hashed_with_outdated_parameters_is_rehashed(
    database_url: str, visitors: Visitors
) -> None:
    """The sign-in is the only moment at which the password is known."""
    from argon2 import PasswordHasher

    person = add_person(database_url, Role.VIEWER)
    weak = PasswordHasher(time_cost=1, memory_cost=1024).hash(PASSWORD)
    stored(
        database_url,
        lambda each: changes.give_password(each, person, weak, given_by=None),
    )

    assert try_password(visitors(), person.login, PASSWORD) == 303

    found = stored(database_url, lambda each: records.get_credentials(each, person.login))
    assert found is not None
    assert not passwords.needs_rehash(found.password_hash or "")


def test_a_note_typed_while_the_session_ended_survives_the_sign_in(
    database_url: str, visitors: Visitors
) -> None:
    """It is shown again after signing in, can be edited, and is sent by the person with a fresh token."""
    person = add_person(database_url, Role.VIEWER)
    guest = signed_in(visitors, person)
    guest.get("/profile")
    stored(database_url, lambda each: sessions.end_all_sessions(each, person.person_id))
    note = 'Kim </textarea><script>alert(1)</script> "quoted"'
    asked = guest.post("/profile", name=note, keys_on="on")

    assert asked.status_code == 401
    carried = re.search(r'name="carried" value="([^"]*)"', asked.text)
    assert carried is not None

    import html

    back = guest.post("/sign-in", login=person.login, password=PASSWORD, carried=html.unescape(carried[1]))

    assert back.status_code == 200
    assert "<script>alert" not in back.text
    assert html.escape(note, quote=True).replace("&#x27;", "&#39;").replace("&quot;", "&#34;") in back.text
    assert guest.post("/profile", name="Kim the Second", keys_on="on").status_code == 303
    assert "Kim the Second" in guest.get("/profile").text


@pytest.mark.parametrize(
    "carried",
    [
        '{"path": "https://evil.example/", "fields": [["note", "x"]]}',
        '{"path": "//evil.example/", "fields": [["note", "x"]]}',
        '{"path": "/nowhere", "fields": [["note", "x"]]}',
        '{"path": "/sign-in", "fields": [["note", "x"]]}',
        '{"path": "/profile", "fields": [[1]]}',
        "[" * 5000,
        "no json",
    ],
)
def test_a_kept_form_leads_to_forms_of_this_site_only(
    database_url: str, visitors: Visitors, carried: str
) -> None:
    """Any other carried text is dropped, and the person is signed in."""
    person = add_person(database_url, Role.VIEWER)
    guest = visitors()
    guest.get("/sign-in")
    done = guest.post("/sign-in", login=person.login, password=PASSWORD, carried=carried)

    assert (done.status_code, done.headers["location"]) == (303, "/")


def test_a_form_of_another_site_is_refused(database_url: str, visitors: Visitors) -> None:
    """By where it came from, and by its token where a browser does not say that."""
    guest = signed_in(visitors, add_person(database_url, Role.VIEWER))
    body = {"csrf": guest.csrf, "name": "X"}
    same = {"Sec-Fetch-Site": "same-origin", "Origin": ADDRESS}

    def status(headers: dict[str, str], body: dict[str, str]) -> int:
        return int(
            guest.client.post("/profile", data=body, headers=headers, follow_redirects=False).status_code
        )

    assert status(same, body) == 303
    assert status({}, body) == 303
    assert status(same, body | {"csrf": ""}) == 403
    assert status(same, body | {"csrf": csrf_token("other")}) == 403
    assert status(same, {"name": "X"}) == 403
    for foreign in (
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
    ):
        assert status(foreign, body) == 403, foreign
