"""Signing in and out of the review pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from db.people import Role
from tests.reviewing import PASSWORD, Visitor, add_person, site


@pytest.fixture(scope="module")
def visitor(database_url: str) -> Iterator[Callable[[], Visitor]]:
    """Visitors of one running site."""
    with site(database_url) as running:
        yield running


def test_a_stranger_is_asked_to_sign_in_and_comes_back_to_the_page(
    database_url: str, visitor: Callable[[], Visitor]
) -> None:
    """No page is given to strangers; after signing in they are where they wanted to go."""
    person = add_person(database_url, Role.VIEWER)
    somebody = visitor()
    asked = somebody.get("/?x=1", follow=True)

    assert 'name="next" value="/?x=1"' in asked.text

    done = somebody.post("/sign-in", login=person.login, password=PASSWORD, next="/?x=1")

    assert (done.status_code, done.headers["location"]) == (303, "/?x=1")
    assert somebody.get("/").status_code == 200


def test_signing_out_ends_the_session(database_url: str, visitor: Callable[[], Visitor]) -> None:
    """The cookie is worth nothing afterwards, also for who kept a copy."""
    somebody = visitor()
    somebody.sign_in(add_person(database_url, Role.VIEWER))
    kept = somebody.client.cookies.get("__Host-hushgate")

    assert somebody.post("/sign-out").status_code == 303

    somebody.client.cookies.set("__Host-hushgate", kept or "", domain="127.0.0.1")
    assert somebody.get("/").headers["location"] == "/sign-in?next=%2F"
