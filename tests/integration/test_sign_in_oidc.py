"""Sign-in at an identity provider, which runs here over HTTP, honest or lying."""

from __future__ import annotations

import asyncio
import gzip
import html
import re
import secrets
import time
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

import psycopg
import pytest
import sqlalchemy as sa

from db.people import invitations, records, sessions
from db.people.records import EVERY_ACCOUNT, Person, Role, RoleGrant
from db.people.tables import people
from review.auth import oidc_pages
from review.services.openid_provider import OpenIdProvider
from tests.integration.test_invitations import invited
from tests.integration.test_sign_in import link_for
from tests.support import identity_provider
from tests.support.identity_provider import CLIENT, SECRET, Provider
from tests.support.reviewing import (
    PASSWORD,
    Visitor,
    Visitors,
    add_person,
    api_token,
    signed_in,
    site,
    stored,
    token_status,
)
from worker.errors import IdentityUnavailable
from worker.rates import RateLimit

EACH_ALGORITHM = pytest.mark.parametrize("served", ["RS256", "ES256"], indirect=True)
"""For tests whose outcome depends on how tokens are signed."""


@pytest.fixture(scope="module")
def served(request: pytest.FixtureRequest) -> Iterator[Provider]:
    """The provider, for all tests of one algorithm."""
    with identity_provider.running(getattr(request, "param", "RS256")) as provider:
        yield provider


@pytest.fixture
def provider(served: Provider) -> Provider:
    """The provider, honest."""
    served.lies, served.answer, served.forge = {}, {}, "right"
    served.method = "client_secret_basic"
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
    """A person whom an administrator added, with their e-mail address as login."""
    person = add_person(database_url, Role.VIEWER, login=f"kim-{time.monotonic_ns()}@example.org")
    provider.email, provider.subject = person.login.upper(), f"subject of {person.login}"
    return person


def away(person: Visitor, **fields: str) -> str:
    """The URL to which the site sends the browser."""
    person.get("/sign-in")
    page = person.post("/sign-in/oidc", **fields)
    assert page.status_code == 200, page.text
    found = re.search(r'content="0;url=([^"]+)"', page.text)
    assert found is not None
    return html.unescape(found[1])


def through(person: Visitor, url: str) -> str:
    """Path and query to which the provider sends the browser back."""

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


def come_back(person: Visitor, **fields: str) -> Any:
    """Go to the provider and come back."""
    return person.get(through(person, away(person, **fields)))


@EACH_ALGORITHM
def test_an_added_person_signs_in_and_is_known_by_their_subject_from_then_on(
    visitor: Visitors, provider: Provider, kim: Person
) -> None:
    """The first time by a verified e-mail address, then by the provider's subject."""
    first = come_back(visitor(), next="/profile")

    assert (first.status_code, first.headers["location"]) == (303, "/profile")

    provider.email = "renamed@example.org"
    person = visitor()

    assert come_back(person).status_code == 303
    assert kim.login in person.get("/profile").text


def test_the_request_carries_what_protects_the_answer(visitor: Visitors, kim: Person) -> None:
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
def test_an_invalid_token_signs_no_person_in(
    visitor: Visitors, provider: Provider, kim: Person, lies: dict[str, Any]
) -> None:
    """Audience, issuer and time claims are all checked."""
    provider.lies = lies
    person = visitor()

    assert come_back(person).status_code == 403
    assert person.get("/profile").status_code == 303


@EACH_ALGORITHM
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
    """Neither an invented one nor that of another browser, nor one a second time."""
    attacker, victim = visitor(), visitor()
    back = through(attacker, away(attacker))
    victim.get("/sign-in")

    assert victim.get(back).status_code == 400
    assert attacker.get(back).status_code == 400, "the state was used up"

    provider.answer = {"state": "invented"}
    assert come_back(visitor()).status_code == 400

    provider.answer = {}
    person = visitor()
    back = through(person, away(person))
    assert person.get(back).status_code == 303
    assert person.get(back).status_code == 400


def test_a_code_works_once(visitor: Visitors, provider: Provider, kim: Person) -> None:
    """A code that was used cannot be used with a fresh state either."""
    person = visitor()
    back = through(person, away(person))
    code = parse_qs(urlsplit(back).query)["code"][0]
    assert person.get(back).status_code == 303

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
def test_an_unverified_address_links_no_person(
    visitor: Visitors, provider: Provider, kim: Person, verified: Any, in_userinfo: bool
) -> None:
    """A profile can hold any address; also when the userinfo endpoint gives it."""
    provider.verified, provider.in_userinfo = verified, in_userinfo

    assert come_back(visitor()).status_code == 403


def test_a_letter_that_only_resembles_one_of_the_login_links_no_person(
    visitor: Visitors, provider: Provider, kim: Person
) -> None:
    """The Kelvin sign is another address's letter, and in lower case a k."""
    provider.email = kim.login.replace("k", "\N{KELVIN SIGN}", 1)

    assert provider.email.lower() == kim.login
    assert come_back(visitor()).status_code == 403


def test_an_address_from_the_userinfo_endpoint_is_as_good(
    visitor: Visitors, provider: Provider, kim: Person
) -> None:
    """Unless it names another subject."""
    provider.in_userinfo = True
    assert come_back(visitor()).status_code == 303

    provider.subject += " again"
    provider.lies = {}
    assert come_back(visitor()).status_code == 403, "kim is linked to another subject"


def test_strangers_are_not_added(visitor: Visitors, provider: Provider) -> None:
    """A person known to the provider only is refused."""
    provider.email, provider.subject = "stranger@example.org", "stranger"
    refused = come_back(visitor())

    assert refused.status_code == 403
    assert "must add you first" in refused.text


def invitation_to(url: str, login: str) -> str:
    """The path of a new invitation's link."""
    admin = add_person(url, Role.ACCOUNT_ADMIN, account="north")
    token, wanted = secrets.token_urlsafe(32), RoleGrant(user_id="north", role=Role.LEAD)
    stored(
        url,
        lambda each: invitations.add_invitation(
            each, token, login=login, wanted=wanted, invited_by=admin.person_id, now=datetime.now(UTC)
        ),
    )
    return f"/invitation/{token}"


def grants_of(url: str, login: str) -> tuple[RoleGrant, ...] | None:
    """The roles of a person, or None without such a person."""
    found = stored(url, lambda each: records.get_credentials(each, login))
    return found.person.grants if found else None


def test_an_invited_new_person_is_created_by_the_verified_address(
    database_url: str, visitor: Visitors, provider: Provider
) -> None:
    """With the role and without a password; the link ends, and the next sign-in needs none."""
    login = f"invited-{time.monotonic_ns()}@example.org"
    path = invitation_to(database_url, login)
    provider.email, provider.subject = login.upper(), f"subject of {login}"
    first = come_back(visitor(), next=path)

    assert (first.status_code, first.headers["location"]) == (303, "/")
    assert grants_of(database_url, login) == (RoleGrant(user_id="north", role=Role.LEAD),)
    assert visitor().get(path).status_code == 410
    assert come_back(visitor()).status_code == 303


def test_an_invitation_of_another_address_creates_no_person(
    database_url: str, visitor: Visitors, provider: Provider
) -> None:
    """Nor one whose address the provider has not verified; the link works on."""
    login = f"invited-{time.monotonic_ns()}@example.org"
    path = invitation_to(database_url, login)
    for email, verified in (("thief@example.org", True), (login, False)):
        provider.email, provider.verified, provider.subject = email, verified, f"{email} {login}"
        assert come_back(visitor(), next=path).status_code == 403

    assert (grants_of(database_url, login), grants_of(database_url, "thief@example.org")) == (None, None)
    assert visitor().get(path).status_code == 200


def test_an_existing_person_of_the_provider_comes_back_to_the_invitation(
    database_url: str, visitor: Visitors, kim: Person
) -> None:
    """And accepts there."""
    path = invitation_to(database_url, kim.login)
    person = visitor()
    back = come_back(person, next=path)
    person.get(path)
    accepted = person.post(f"{path}/accept")

    assert (back.headers["location"], accepted.status_code) == (path, 303)
    assert RoleGrant(user_id="north", role=Role.LEAD) in (grants_of(database_url, kim.login) or ())


def test_the_first_sign_in_at_the_provider_ends_a_password_that_its_giver_may_know(
    database_url: str, visitor: Visitors, kim: Person
) -> None:
    """With the sessions, API tokens, sign-in links and invitations of the thief; every account has a line."""
    giver = add_person(database_url, Role.ACCOUNT_ADMIN, account="north")
    wanted = RoleGrant(user_id="north", role=Role.ACCOUNT_ADMIN)

    async def squat(connection: Any) -> None:
        await records.grant_role(connection, kim.person_id, wanted, granted_by=giver.login)
        given = sa.update(people).where(people.c.id == kim.person_id)
        await connection.execute(given.values(password_given_by=giver.person_id))

    stored(database_url, squat)
    thief = signed_in(visitor, kim)
    token = api_token(thief)
    planted = invited(thief, f"planted-{kim.login}", "north")
    link = link_for(database_url, kim)
    owner = visitor()
    assert come_back(owner).status_code == 303
    late = visitor()
    late.get(f"/sign-in/link?token={link}")
    again = visitor()
    again.get("/sign-in")
    reads = token_status(visitor, token)
    with psycopg.connect(database_url) as connection:
        lines = connection.execute(
            "SELECT user_id, person, (detail ->> 'sessions_ended')::int, (detail ->> 'keys_revoked')::int,"
            " (detail ->> 'links_ended')::int, (detail ->> 'invitations_ended')::int FROM access_log"
            " WHERE detail ->> 'changed' = 'password ended at the identity provider'"
            " AND detail ->> 'login' = %s ORDER BY user_id",
            (kim.login,),
        ).fetchall()

    assert again.post("/sign-in", login=kim.login, password=PASSWORD).status_code == 401
    assert (thief.get("/profile").status_code, owner.get("/profile").status_code) == (303, 200)
    assert (reads, late.post("/sign-in/link", token=link).status_code) == (401, 410)
    assert visitor().get(planted).status_code == 410
    assert lines == [(user_id, kim.login, 1, 1, 1, 1) for user_id in (EVERY_ACCOUNT, "north")]
    assert come_back(visitor()).status_code == 303


def test_the_first_sign_in_at_the_provider_keeps_a_password_that_no_giver_knows(
    visitor: Visitors, kim: Person
) -> None:
    """Nor does it end a session."""
    earlier = signed_in(visitor, kim)

    assert come_back(visitor()).status_code == 303
    assert earlier.get("/profile").status_code == 200
    visitor().sign_in(kim)


@EACH_ALGORITHM
def test_a_new_key_of_the_provider_is_fetched(
    visitor: Visitors, provider: Provider, kim: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Providers change keys unannounced; a token with an unknown key makes the server fetch keys."""
    from review.services import openid_provider

    monkeypatch.setattr(openid_provider, "FETCH_KEYS_EVERY_S", 0.0)
    provider.rotate()

    assert come_back(visitor()).status_code == 303


def test_an_outage_of_the_provider_is_named(
    database_url: str, visitor: Visitors, provider: Provider, kim: Person
) -> None:
    """Before the redirect, when nothing is discovered yet, and at the answer."""
    person = visitor()
    back = through(person, away(person))
    provider.down = True

    assert person.get(back).status_code == 503

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


def test_a_note_survives_the_sign_in_at_the_provider(
    database_url: str, visitor: Visitors, provider: Provider, kim: Person
) -> None:
    """It is kept on this server and shown after the sign-in."""
    person = visitor()
    assert come_back(person).status_code == 303
    person.get("/profile")
    stored(database_url, lambda each: sessions.end_all_sessions(each, kim.person_id))
    asked = person.post("/profile", name="Kim who typed this")
    kept = re.search(r'name="carried" value="([^"]*)"', asked.text)
    assert kept is not None
    there = person.post("/sign-in/oidc", carried=html.unescape(kept[1]))
    url = re.search(r'content="0;url=([^"]+)"', there.text)
    assert url is not None
    back = person.get(through(person, html.unescape(url[1])))

    assert back.status_code == 200
    assert "Kim who typed this" in back.text
    assert person.post("/profile", name="Kim who sent this").status_code == 303


def test_passwords_can_be_switched_off(database_url: str, provider: Provider) -> None:
    """Then there is no password form, and no password is checked."""
    settings = {
        "HUSHGATE_REVIEW_OIDC_ISSUER": provider.issuer,
        "HUSHGATE_REVIEW_OIDC_CLIENT_ID": CLIENT,
        "HUSHGATE_REVIEW_PASSWORDS": "false",
    }
    with site(database_url, **settings) as fresh:
        person = fresh()

        assert 'type="password"' not in person.get("/sign-in").text
        assert person.post("/sign-in", login="kim", password="x").status_code == 404


def logout_answer(visitor: Visitors, token: str) -> int:
    """The status of a back-channel logout."""
    return visitor().client.post("/sign-in/oidc/logout", data={"logout_token": token}).status_code


@EACH_ALGORITHM
def test_the_provider_ends_its_session(visitor: Visitors, kim: Person, provider: Provider) -> None:
    """The session with its sid, not another one; without sid all of the subject; a token works once."""
    one, other, third = visitor(), visitor(), visitor()
    for each, sid in ((one, "s1"), (other, "s2"), (third, "s3")):
        provider.lies = {"sid": sid}
        come_back(each)
    token = provider.logout_token(sid="s1", sub=provider.subject)

    assert logout_answer(visitor, token) == 200
    assert [each.get("/profile").status_code for each in (one, other)] == [303, 200]
    provider.lies = {"sid": "s1"}
    assert come_back(one).status_code == 303
    assert one.get("/profile").status_code == 200
    assert logout_answer(visitor, token) == 200
    assert one.get("/profile").status_code == 200
    assert logout_answer(visitor, provider.logout_token(sub="somebody-else")) == 200
    assert logout_answer(visitor, provider.logout_token(sid="s2", sub="somebody-else")) == 200
    assert [each.get("/profile").status_code for each in (one, other, third)] == [200, 200, 200]
    assert logout_answer(visitor, provider.logout_token(sub=provider.subject)) == 200
    assert [each.get("/profile").status_code for each in (one, other, third)] == [303, 303, 303]


@pytest.mark.parametrize(
    "lie",
    [
        {"aud": "another"},
        {"iss": "https://evil.example"},
        {"iat": 1_000_000_000},
        {"iat": None},
        {"exp": 1_000_000_000},
        {"events": {}},
        {"events": None},
        {"nonce": "n"},
        {"jti": None},
        {"sub": None},
        {"sub": 7},
    ],
    ids=str,
)
def test_a_false_logout_token_ends_nothing(
    visitor: Visitors, kim: Person, provider: Provider, lie: dict[str, object]
) -> None:
    """400, and the session goes on."""
    guest = visitor()
    come_back(guest)
    claims: dict[str, object] = {"sub": provider.subject} | lie

    assert logout_answer(visitor, provider.logout_token(**claims)) == 400
    assert guest.get("/profile").status_code == 200


@EACH_ALGORITHM
@pytest.mark.parametrize("forge", ["none", "hmac", "stranger"])
def test_a_forged_logout_token_ends_nothing(
    visitor: Visitors, kim: Person, provider: Provider, forge: str
) -> None:
    """Whoever signs it must have the provider's key."""
    guest = visitor()
    come_back(guest)
    provider.forge = forge

    assert logout_answer(visitor, provider.logout_token(sub=provider.subject)) == 400
    assert guest.get("/profile").status_code == 200


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
async def test_a_restarted_server_finishes_a_sign_in_as_the_provider_wants(
    provider: Provider, method: str
) -> None:
    """The second server has not asked the provider before, and still authenticates by the right method."""
    provider.method = method
    redirect_uri = "http://127.0.0.1/sign-in/oidc/callback"
    first, second = (
        OpenIdProvider(provider.issuer, client_id=CLIENT, client_secret=SECRET, redirect_uri=redirect_uri)
        for _ in range(2)
    )
    begun = await first.begin()
    back = provider.authorize(dict(parse_qsl(urlsplit(begun.url).query)))
    answer = dict(parse_qsl(urlsplit(back).query))
    identity = await second.finish(answer, nonce=begun.nonce, verifier=begun.verifier)

    assert identity.subject == provider.subject


async def test_a_socks_proxy_is_named_where_the_provider_is_behind_it(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is no defect, and a provider on loopback is behind no proxy."""
    for name in ("NO_PROXY", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
    here, away_from_here = (
        OpenIdProvider(issuer, client_id=CLIENT, client_secret=SECRET, redirect_uri="http://127.0.0.1/back")
        for issuer in (provider.issuer, "https://id.example")
    )
    await here.begin()
    with pytest.raises(IdentityUnavailable, match=r"^ALL_PROXY: expected http://HOST:PORT"):
        await away_from_here.begin()


NESTED = b'{"issuer":' * 100_000
BROKEN_ANSWERS = {
    "ReadError": (b"\r\n", b" " * 65_536),
    "TimeoutError": (b"\r\n", b" "),
    "TimeoutError of head": (b"X-Name: ", b"a"),
    "DecodingError": (b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(b"{}"), b""),
    "RecursionError": (b"Content-Length: %d\r\n\r\n" % len(NESTED) + NESTED, b""),
}


@pytest.mark.parametrize("name", BROKEN_ANSWERS)
async def test_a_broken_answer_of_the_provider_is_an_outage(
    provider: Provider, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """It costs neither memory nor a place for longer than a step may take."""
    from review.services import openid_provider

    monkeypatch.setattr(openid_provider, "WHOLE_S", 0.5)
    monkeypatch.setattr(provider, "broken", BROKEN_ANSWERS[name])
    client = OpenIdProvider(provider.issuer, client_id=CLIENT, client_secret=SECRET, redirect_uri="http://a")
    with pytest.raises(IdentityUnavailable, match=name.partition(" ")[0]):
        await asyncio.wait_for(client.begin(), 5)


@pytest.mark.parametrize(
    "said", [{"token_endpoint_auth_methods_supported": 5}, {"jwks_uri": "https://[::1"}], ids=str
)
async def test_a_malformed_discovery_document_is_an_outage(
    provider: Provider, monkeypatch: pytest.MonkeyPatch, said: dict[str, object]
) -> None:
    """It is the provider's defect, not one of this server."""
    document = provider.metadata() | said
    monkeypatch.setattr(provider, "metadata", lambda: document)
    client = OpenIdProvider(provider.issuer, client_id=CLIENT, client_secret=SECRET, redirect_uri="http://a")
    with pytest.raises(IdentityUnavailable):
        await client.begin()


def test_one_address_cannot_stop_the_sign_ins_of_others(
    visitor: Visitors, database_url: str, kim: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond the limit of all sign-ins in progress the oldest one ends, and a new one begins."""
    monkeypatch.setattr(oidc_pages, "MOST_IN_PROGRESS", 3)
    first = visitor()
    back = through(first, away(first))
    for _ in range(3):
        away(visitor())
    person = visitor()

    assert come_back(person).status_code == 303
    assert first.get(back).status_code == 400


def test_an_address_that_begins_too_many_sign_ins_waits(
    visitor: Visitors, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It alone; the limit is of a minute."""
    monkeypatch.setattr(oidc_pages, "BEGUN_SIGN_INS", RateLimit(per_minute=0.01, burst=5))
    person, other = visitor(), visitor()
    for each in (person, other):
        each.get("/sign-in")
    codes = [person.post("/sign-in/oidc").status_code for _ in range(8)]

    assert codes == [200] * 5 + [429] * 3
    assert other.post("/sign-in/oidc").status_code == 200
