"""Second factors, notices of sign-ins, and the list of breached passwords."""

from __future__ import annotations

import base64
import hashlib
import html
import re
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP

from db.people import second_factors
from db.people.records import Person, Role
from review.auth.second_factor import STEP_S, opened, sealed
from review.auth.sign_in_code import VALID_S
from review.http.visit import Refused
from tests.support.reviewing import PASSWORD, Visitor, Visitors, add_person, site, stored
from worker.settings.breached_passwords import BreachedPasswords
from worker.settings.review import ReviewSettings

PAGE = "/profile/second-factor"
BREACHED = "correct horse battery"
SEALING_KEY = base64.b64encode(bytes(range(32))).decode()
DATABASE = {"DATABASE_URL": "postgresql://127.0.0.1/none"}
SEALING = ReviewSettings.model_validate(DATABASE | {"HUSHGATE_SECRETS_KEY": SEALING_KEY})


@pytest.fixture(scope="module")
def list_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A list of breached passwords."""
    listed = [*(f"{number}" for number in range(500)), BREACHED]
    hashes = sorted(hashlib.sha1(each.encode()).hexdigest().upper() for each in listed)
    path = tmp_path_factory.mktemp("breached") / "list.txt"
    path.write_text("".join(f"{each}:{number}\n" for number, each in enumerate(hashes)))
    return path


@pytest.fixture(scope="module")
def visitor(database_url: str, list_file: Path) -> Iterator[Visitors]:
    """Visitors of a site that asks administrators for a second factor."""
    demands = {
        "HUSHGATE_REVIEW_SECOND_FACTOR": "administrators",
        "HUSHGATE_SECRETS_KEY": SEALING_KEY,
        "HUSHGATE_REVIEW_BREACHED_PASSWORDS": str(list_file),
    }
    with site(database_url, **demands) as running:
        yield running


def code_at(url: str, person: Person, step: int = 0) -> str:
    """The code that the person's app shows, some steps from now."""
    factor = stored(url, lambda each: second_factors.get_factor(each, person.person_id))
    assert factor is not None
    seconds = (int(time.time()) // STEP_S + step) * STEP_S
    secret = opened(factor.secret, person.person_id, SEALING)
    return TOTP(secret, 6, SHA1(), STEP_S).generate(seconds).decode()


def set_up(url: str, person: Person, guest: Visitor) -> list[str]:
    """Set a second factor up, with the code of the step before; its recovery codes."""
    guest.get(PAGE)
    assert guest.post(PAGE, what="begin", password=PASSWORD).status_code == 303
    assert "<svg" in guest.get(PAGE).text
    assert guest.post(PAGE, what="confirm", code="000000").status_code == 400
    done = guest.post(PAGE, what="confirm", code=code_at(url, person, -1))
    assert done.status_code == 200, done.text
    return re.findall(r"<li>([a-z2-7-]{19})</li>", done.text)


def ready(url: str, visitor: Visitors) -> tuple[Person, list[str]]:
    """A viewer with a second factor, and the recovery codes."""
    person, owner = add_person(url, Role.VIEWER), visitor()
    owner.sign_in(person)
    return person, set_up(url, person, owner)


def enter_password(guest: Visitor, person: Person, **fields: str) -> dict[str, str]:
    """The hidden fields of the form for the code."""
    guest.get("/sign-in")
    page = guest.post("/sign-in", login=person.login, password=PASSWORD, **fields)
    assert page.status_code == 200, page.text
    found = re.findall(r'name="(login|ends|mark|next)" value="([^"]*)"', page.text)
    return {name: html.unescape(value) for name, value in found}


def test_a_password_alone_does_not_sign_in(database_url: str, visitor: Visitors) -> None:
    """With the code it does, once; the session begins only then."""
    (person, _), guest, again = ready(database_url, visitor), visitor(), visitor()
    hidden = enter_password(guest, person, next="/decisions")

    assert guest.get("/profile").status_code == 303
    assert guest.post("/sign-in/code", code="000000", **hidden).status_code == 401
    code = code_at(database_url, person)
    done = guest.post("/sign-in/code", code=code, **hidden)
    assert done.status_code == 303, done.text
    assert done.headers["location"] == "/decisions"
    assert guest.get("/profile").status_code == 200
    assert again.post("/sign-in/code", code=code, **enter_password(again, person)).status_code == 401


def test_a_copy_of_the_database_holds_no_usable_key(database_url: str, visitor: Visitors) -> None:
    """The stored key opens with the server's key alone, and only for the person who set it up."""
    (person, _), (other, _) = ready(database_url, visitor), ready(database_url, visitor)
    factor = stored(database_url, lambda each: second_factors.get_factor(each, person.person_id))
    assert factor is not None
    secret = opened(factor.secret, person.person_id, SEALING)
    other_key = {"HUSHGATE_SECRETS_KEY": base64.b64encode(bytes(32)).decode()}

    assert secret not in factor.secret
    for person_id, settings in (
        (other.person_id, SEALING),
        (person.person_id, ReviewSettings.model_validate(DATABASE | other_key)),
        (person.person_id, ReviewSettings.model_validate(DATABASE)),
    ):
        with pytest.raises(Refused, match="not readable"):
            opened(factor.secret, person_id, settings)


def test_keys_stored_before_the_server_had_a_key_still_work() -> None:
    """An unsealed key is its own stored form, with and without HUSHGATE_SECRETS_KEY."""
    secret, person_id, without = b"k" * 20, uuid4(), ReviewSettings.model_validate(DATABASE)

    assert sealed(secret, person_id, without) == secret
    assert opened(secret, person_id, SEALING) == opened(secret, person_id, without) == secret


def test_switching_it_on_signs_out_the_other_devices(database_url: str, visitor: Visitors) -> None:
    """The page says so before; a session that was stolen before ends."""
    person, here, there = add_person(database_url, Role.VIEWER), visitor(), visitor()
    here.sign_in(person)
    there.sign_in(person)
    before = here.get(PAGE).text
    set_up(database_url, person, here)

    assert "your other devices are signed out" in before
    assert [each.get("/profile").status_code for each in (here, there)] == [200, 303]


def test_the_form_for_the_code_is_of_one_browser_and_this_password(
    database_url: str, visitor: Visitors
) -> None:
    """Another browser, a later time and another login begin again."""
    (person, _), other = ready(database_url, visitor), add_person(database_url, Role.VIEWER)
    guest, thief = visitor(), visitor()
    hidden = enter_password(guest, person)
    thief.get("/sign-in")
    code, late = code_at(database_url, person), {"ends": str(int(hidden["ends"]) + VALID_S)}

    for visiting, fields in ((thief, {}), (guest, late), (guest, {"login": other.login})):
        refused = visiting.post("/sign-in/code", code=code, **hidden | fields)
        assert (refused.status_code, 'action="/sign-in/code"' in refused.text) == (401, False)
        enter_password(guest, person)
    assert guest.post("/sign-in/code", code=code, **hidden).status_code == 303


def test_wrong_codes_are_counted_apart_from_passwords(database_url: str, visitor: Visitors) -> None:
    """A right password in between does not begin the count again."""
    (person, _), guest = ready(database_url, visitor), visitor()
    answers = []
    for _ in range(7):
        hidden = enter_password(guest, person)
        answers.append(guest.post("/sign-in/code", code="123456", **hidden).status_code)

    assert (answers[:3], answers[-1]) == ([401, 401, 401], 429)


def test_codes_cannot_be_guessed_on_the_page_that_removes_the_factor(
    database_url: str, visitor: Visitors
) -> None:
    """A stolen session and the password are not enough: after some wrong codes a right one waits too."""
    (person, (recovery, *_)), guest = ready(database_url, visitor), visitor()
    guest.post("/sign-in/code", code=code_at(database_url, person), **enter_password(guest, person))
    guest.get(PAGE)

    answers = [
        guest.post(PAGE, what="remove", password=PASSWORD, code="123456").status_code for _ in range(6)
    ]
    last = guest.post(PAGE, what="remove", password=PASSWORD, code=recovery)
    assert (answers[0], answers[-1], last.status_code) == (400, 429, 429)


def test_a_recovery_code_works_once(database_url: str, visitor: Visitors) -> None:
    """The device is lost: one code signs in, and the next one removes the factor."""
    (person, (first, second, *_)), guest, again = ready(database_url, visitor), visitor(), visitor()
    spelled = first.upper().replace("-", " ")

    assert guest.post("/sign-in/code", code=spelled, **enter_password(guest, person)).status_code == 303
    assert again.post("/sign-in/code", code=first, **enter_password(again, person)).status_code == 401
    guest.get(PAGE)
    assert guest.post(PAGE, what="remove", password="wrong", code=second).status_code == 400
    assert guest.post(PAGE, what="remove", password=PASSWORD, code="000000").status_code == 400
    assert guest.post(PAGE, what="remove", password=PASSWORD, code=second).status_code == 303
    visitor().sign_in(person)


def test_administrators_must_set_one_up(database_url: str, visitor: Visitors) -> None:
    """Every page leads there; viewers are not asked; an administrator of all removes a lost one."""
    admin, boss = add_person(database_url, Role.ACCOUNT_ADMIN), add_person(database_url, Role.ACCOUNT_ADMIN)
    guest, chief = visitor(), visitor()
    for visiting, person in ((guest, admin), (chief, boss)):
        visiting.get("/sign-in")
        visiting.post("/sign-in", login=person.login, password=PASSWORD)
        assert visiting.get("/").headers["location"] == PAGE
        set_up(database_url, person, visiting)
        assert visiting.get("/").status_code == 200
    page = f"/people/{admin.person_id}"

    assert "remove_factor" in chief.get(page).text
    assert chief.post(page + "/manage", what="remove_factor").status_code == 303
    assert chief.post(page + "/manage", what="remove_factor").status_code == 409
    assert guest.get("/").headers["location"] == PAGE


def test_a_sign_in_on_an_unknown_browser_is_told(database_url: str, visitor: Visitors) -> None:
    """In the other sessions, until the person says that it was theirs; a known browser is not told of."""
    person, owner, stranger = add_person(database_url, Role.VIEWER), visitor(), visitor()
    owner.sign_in(person)
    told = "in a browser that was not known"

    assert told not in owner.get("/profile").text
    stranger.sign_in(person)
    assert told in owner.get("/profile").text
    owner.post("/profile/sessions/mine")
    assert told not in owner.get("/profile").text
    owner.post("/sign-out")
    owner.sign_in(person)
    assert told not in stranger.get("/profile").text


def test_a_breached_password_is_refused(database_url: str, visitor: Visitors, list_file: Path) -> None:
    """The policy alone would take it."""
    person, guest, fine = add_person(database_url, Role.VIEWER), visitor(), BREACHED + " staple"
    guest.sign_in(person)
    guest.get("/profile/password")
    refused = guest.post("/profile/password", current=PASSWORD, new=BREACHED, again=BREACHED)

    assert (refused.status_code, "list of breached passwords" in refused.text) == (400, True)
    assert guest.post("/profile/password", current=PASSWORD, new=fine, again=fine).status_code == 303
    listed = BreachedPasswords(list_file)
    assert all(listed.contain(f"{number}") for number in range(500))
    assert not any(listed.contain(f"{number}") for number in range(500, 700))


@pytest.mark.parametrize(
    ("text", "problem"),
    [("", "40 hexadecimal"), ("password\n", "40 hexadecimal"), (f"{'B' * 40}\n{'A' * 40}\n", "sorted")],
)
def test_an_unusable_list_is_named(tmp_path: Path, text: str, problem: str) -> None:
    """At the start, not at the first password."""
    path = tmp_path / "list"
    path.write_text(text)

    assert problem in BreachedPasswords(path).problem()
    assert "readable file" in BreachedPasswords(tmp_path / "none").problem()
