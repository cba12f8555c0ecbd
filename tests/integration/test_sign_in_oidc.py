"""Signing in at an identity provider, which is run here over HTTP, and what a lying one gets."""

from __future__ import annotations

import html
import re
import time
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from db import sessions
from db.people import Person, Role
from tests import identity_provider
from tests.identity_provider import CLIENT, SECRET, Provider
from tests.reviewing import Visitor, add_person, site, stored

Visitors = Callable[[], Visitor]


@pytest.fixture(scope="module", params=["RS256", "ES256"])
def served(request: pytest.FixtureRequest) -> Iterator[Provider]:
    """The provider, for all tests of one algorithm."""
    with identity_provider.running(request.param) as provider:
        yield provider


@pytest.fixture
def provider(served: Provider) -> Provider:
    """The provider, honest."""
    served.lies, served.answer, served.forge = {}, {}, "right"
    served.down = served.in_userinfo = False
    served.email, served.verified, served.subject = "kim@example.org", True, "subject-1"
    return served


@pytest.fixture(scope="module")
def visitor(database_url: str, served: Provider) -> Iterator[Visitors]:
    """Visitors of a site that knows the provider."""
    settings = {
        "HUSHGATE_REVIEW_OIDC_ISSUER": served.issuer,
        "HUSHGATE_REVIEW_OIDC_CLIENT_ID": CLIENT,
        "HUSHGATE_REVIEW_OIDC_CLIENT_SECRET": SECRET,
    }
    with site(database_url, **settings) as running:
        yield running


@pytest.fixture
def kim(database_url: str, provider: Provider) -> Person:
    """Somebody an administrator has added, with an e-mail address of their own as login."""
    person = add_person(database_url, Role.VIEWER, login=f"kim-{time.monotonic_ns()}@example.org")
    provider.email, provider.subject = person.login.upper(), f"subject of {person.login}"
    return person


def away(somebody: Visitor, **fields: str) -> str:
    """Where the site sends the browser."""
    somebody.get("/sign-in")
    page = somebody.post("/sign-in/oidc", **fields)
    assert page.status_code == 200, page.text
    found = re.search(r'content="0;url=([^"]+)"', page.text)
    assert found is not None
    return html.unescape(found[1])


def through(somebody: Visitor, url: str) -> str:
    """What the provider sends the browser back to: path and query."""

    class Stay(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_: Any) -> None:
            return None

    try:
        urllib.request.build_opener(Stay).open(url, timeout=10)
    except urllib.error.HTTPError as answer:
        parts = urlsplit(answer.headers["Location"])
        answer.close()
        return f"{parts.path}?{parts.query}"
    raise AssertionError(url)


def come_back(somebody: Visitor, **fields: str) -> Any:
    """Go to the provider and come back."""
    return somebody.get(through(somebody, away(somebody, **fields)))


def test_somebody_who_was_added_signs_in_and_is_known_by_their_subject_from_then_on(
    visitor: Visitors, provider: Provider, kim: Person
) -> None:
    """The first time by a verified e-mail address, then by what the provider calls them."""
    first = come_back(visitor(), next="/profile")

    assert (first.status_code, first.headers["location"]) == (303, "/profile")

    provider.email = "renamed@example.org"
    somebody = visitor()

    assert come_back(somebody).status_code == 303
    assert kim.login in somebody.get("/profile").text


def test_the_way_there_carries_what_protects_the_way_back(visitor: Visitors, kim: Person) -> None:
    """PKCE with S256, a state and a nonce, each new every time."""
    one, two = (parse_qs(urlsplit(away(visitor())).query) for _ in range(2))

    assert (one["response_type"], one["code_challenge_method"]) == (["code"], ["S256"])
    assert one["redirect_uri"] == ["https://127.0.0.1/sign-in/oidc/back"]
    for name in ("state", "nonce", "code_challenge"):
        assert one[name] != two[name]
        assert len(one[name][0]) >= 43


@pytest.mark.parametrize(
    "lies",
    [
        {"nonce": "another"},
        {"nonce": None},
        {"nonce": "another", "nonce_supported": False},
        {"aud": "another client"},
        {"aud": "another client", "azp": CLIENT},
        {"aud": ["another client"], "azp": CLIENT},
        {"aud": [CLIENT, "another client"], "azp": "another client"},
        {"aud": None},
        {"iss": "https://another.example"},
        {"iss": None},
        {"exp": 1_700_000_000},
        {"exp": None},
        {"iat": 4_000_000_000},
        {"nbf": 4_000_000_000},
        {"sub": None},
        {"sub": ""},
        {"sub": 7},
        {"at_hash": "wrong"},
    ],
    ids=str,
)
def test_a_token_that_lies_signs_nobody_in(
    visitor: Visitors, provider: Provider, kim: Person, lies: dict[str, Any]
) -> None:
    """Every claim that says for whom, from whom and when is checked."""
    provider.lies = lies
    somebody = visitor()

    assert come_back(somebody).status_code == 403
    assert somebody.get("/profile").status_code == 303


@pytest.mark.parametrize("forge", ["none", "hmac", "stranger"])
def test_a_token_that_the_provider_did_not_sign_signs_nobody_in(
    visitor: Visitors, provider: Provider, kim: Person, forge: str
) -> None:
    """No signature, one made with the public key as a password, one of another key: all refused."""
    provider.forge = forge

    assert come_back(visitor()).status_code == 403


def test_a_clock_that_is_a_little_off_is_forgiven(visitor: Visitors, provider: Provider, kim: Person) -> None:
    """Half a minute."""
    provider.lies = {"exp": int(time.time()) - 30, "iat": int(time.time()) + 30}

    assert come_back(visitor()).status_code == 303


def test_a_state_that_we_did_not_give_to_this_browser_is_refused(
    visitor: Visitors, provider: Provider, kim: Person
) -> None:
    """Neither an invented one nor one that somebody else began with, nor one a second time."""
    attacker, victim = visitor(), visitor()
    back = through(attacker, away(attacker))
    victim.get("/sign-in")

    assert victim.get(back).status_code == 400
    assert attacker.get(back).status_code == 400, "the state was used up"

    provider.answer = {"state": "invented"}
    assert come_back(visitor()).status_code == 400

    provider.answer = {}
    somebody = visitor()
    back = through(somebody, away(somebody))
    assert somebody.get(back).status_code == 303
    assert somebody.get(back).status_code == 400


def test_a_code_works_once(visitor: Visitors, provider: Provider, kim: Person) -> None:
    """A code that was used cannot be used with a fresh state either."""
    somebody = visitor()
    back = through(somebody, away(somebody))
    code = parse_qs(urlsplit(back).query)["code"][0]
    assert somebody.get(back).status_code == 303

    provider.answer = {"code": code}
    thief = visitor()
    assert come_back(thief).status_code == 403
    assert thief.get("/profile").status_code == 303


def test_an_answer_of_another_provider_is_refused(visitor: Visitors, provider: Provider, kim: Person) -> None:
    """Mix-up: the answer names who gave it, and that has to be whom we asked."""
    provider.answer = {"iss": "https://another.example"}

    assert come_back(visitor()).status_code == 403


@pytest.mark.parametrize("in_userinfo", [False, True])
@pytest.mark.parametrize("verified", [False, "true", 1, None])
def test_an_address_that_the_provider_does_not_vouch_for_links_nobody(
    visitor: Visitors, provider: Provider, kim: Person, verified: Any, in_userinfo: bool
) -> None:
    """Anybody can type somebody's address into a profile; also where the address comes separately."""
    provider.verified, provider.in_userinfo = verified, in_userinfo

    assert come_back(visitor()).status_code == 403


def test_an_address_from_the_userinfo_endpoint_is_as_good(
    visitor: Visitors, provider: Provider, kim: Person
) -> None:
    """Unless it speaks of somebody else."""
    provider.in_userinfo = True
    assert come_back(visitor()).status_code == 303

    provider.subject += " again"
    provider.lies = {}
    assert come_back(visitor()).status_code == 403, "kim is linked to another subject"


def test_strangers_are_not_added(visitor: Visitors, provider: Provider) -> None:
    """Whoever the provider knows, an administrator adds."""
    provider.email, provider.subject = "stranger@example.org", "stranger"
    refused = come_back(visitor())

    assert refused.status_code == 403
    assert "has to add you first" in refused.text


def test_a_new_key_of_the_provider_is_fetched(
    visitor: Visitors, provider: Provider, kim: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Providers change keys without a word; a token with an unknown key makes us look."""
    from worker.adapters import openid_provider

    monkeypatch.setattr(openid_provider, "FETCH_KEYS_EVERY_S", 0.0)
    provider.rotate()

    assert come_back(visitor()).status_code == 303


def test_an_outage_of_the_provider_is_said_plainly(
    database_url: str, visitor: Visitors, provider: Provider, kim: Person
) -> None:
    """Before the way there where nothing is known yet, and on the way back."""
    somebody = visitor()
    back = through(somebody, away(somebody))
    provider.down = True

    assert somebody.get(back).status_code == 503

    settings = {
        "HUSHGATE_REVIEW_OIDC_ISSUER": provider.issuer,
        "HUSHGATE_REVIEW_OIDC_CLIENT_ID": CLIENT,
    }
    with site(database_url, **settings) as fresh:
        other = fresh()
        other.get("/sign-in")
        page = other.post("/sign-in/oidc")

    assert page.status_code == 503
    assert "does not answer" in page.text


def test_a_note_survives_the_way_to_the_provider(
    database_url: str, visitor: Visitors, provider: Provider, kim: Person
) -> None:
    """It waits here, not there, and is shown on the way back."""
    somebody = visitor()
    assert come_back(somebody).status_code == 303
    somebody.get("/profile")
    stored(database_url, lambda each: sessions.end_all(each, kim.person_id))
    asked = somebody.post("/profile", name="Kim who typed this")
    kept = re.search(r'name="carried" value="([^"]*)"', asked.text)
    assert kept is not None
    there = somebody.post("/sign-in/oidc", carried=html.unescape(kept[1]))
    url = re.search(r'content="0;url=([^"]+)"', there.text)
    assert url is not None
    back = somebody.get(through(somebody, html.unescape(url[1])))

    assert back.status_code == 200
    assert "Kim who typed this" in back.text
    assert somebody.post("/profile", name="Kim who sent this").status_code == 303


def test_passwords_can_be_switched_off(database_url: str, provider: Provider) -> None:
    """Then there is no form for one, and none is judged."""
    settings = {
        "HUSHGATE_REVIEW_OIDC_ISSUER": provider.issuer,
        "HUSHGATE_REVIEW_OIDC_CLIENT_ID": CLIENT,
        "HUSHGATE_REVIEW_PASSWORDS": "false",
    }
    with site(database_url, **settings) as fresh:
        somebody = fresh()

        assert 'type="password"' not in somebody.get("/sign-in").text
        assert somebody.post("/sign-in", login="kim", password="x").status_code == 404
