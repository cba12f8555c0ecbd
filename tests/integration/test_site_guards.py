"""Checks before every page: headers, host names, proxies, sizes, and what logs never contain."""

from __future__ import annotations

import logging

import psycopg
import pytest
from structlog.testing import capture_logs

from cli.stack import Stack
from db.people.records import Role
from review.auth import invitation_page
from review.routes import PAGES
from tasks.process.logs import secret_values
from tests.conftest import create_database
from tests.support.reviewing import ADDRESS, PASSWORD, Visitors, add_person, settings_at, signed_in, site

ALWAYS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


@pytest.mark.parametrize("path", ["/healthz", "/sign-in", "/profile", "/nowhere", "/api/v1/decisions"])
def test_every_answer_has_the_security_headers(visitors: Visitors, path: str) -> None:
    """Pages, redirects, refusals and JSON alike."""
    answer = visitors().get(path)
    policy = answer.headers["content-security-policy"]

    assert {name: answer.headers.get(name) for name in ALWAYS} == ALWAYS
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert answer.headers["strict-transport-security"].startswith("max-age=")


def test_another_host_name_is_refused(visitors: Visitors) -> None:
    """DNS rebinding, and links built from a forged header, end here."""
    client = visitors().client
    for host in ("evil.example", "127.0.0.1.evil.example", "evil.example:443"):
        assert client.get("/sign-in", headers={"Host": host}).status_code == 400, host
    forwarded = {"X-Forwarded-Host": "evil.example", "X-Original-URL": "/people", "X-Rewrite-URL": "/people"}
    answer = client.get("/profile", headers=forwarded, follow_redirects=False)

    assert answer.headers["location"] == "/sign-in?next=%2Fprofile"
    assert "evil.example" not in client.get("/sign-in", headers=forwarded).text


@pytest.mark.parametrize(("proxies", "warned"), [("", 1), ("127.0.0.1", 0)])
def test_an_undeclared_proxy_is_named_once_in_the_log(database_url: str, proxies: str, warned: int) -> None:
    """All clients would share the limits of its address."""
    with site(database_url, HUSHGATE_REVIEW_PROXIES=proxies) as visitors, capture_logs() as lines:
        for _ in range(2):
            visitors().client.get("/sign-in", headers={"X-Forwarded-For": "203.0.113.7"})

    found = [line for line in lines if line["event"] == "proxy_not_declared"]
    assert [line["setting"] for line in found] == ["HUSHGATE_REVIEW_PROXIES"] * warned


def test_a_refusal_keeps_no_request_in_memory(visitors: Visitors) -> None:
    """A refusal that several requests share holds no frame of any of them."""
    client = visitors().client
    statuses = {client.get(f"/invitation/unknown-{number}").status_code for number in range(3)}

    assert statuses == {410}
    assert invitation_page.CLOSED.__traceback__ is None


def test_a_method_cannot_be_overridden(database_url: str, visitors: Visitors) -> None:
    """A GET stays a GET, whatever its headers and fields say; unknown methods are refused."""
    viewer = signed_in(visitors, add_person(database_url, Role.VIEWER))
    headers = {"X-HTTP-Method-Override": "POST", "X-Method-Override": "POST"}
    for page in (page for page in PAGES if page.methods == ("POST",) and "{" not in page.path):
        answer = viewer.client.get(f"{page.path}?_method=POST", headers=headers, follow_redirects=False)
        assert answer.status_code in {200, 303, 403, 404, 405}
    assert viewer.get("/profile").status_code == 200, "nothing signed us out"
    for method in ("PUT", "DELETE", "PATCH", "TRACE"):
        assert viewer.client.request(method, "/profile").status_code == 405


def test_a_body_beyond_the_limit_is_refused(visitors: Visitors) -> None:
    """413, before anything is done with it."""
    answer = visitors().client.post("/sign-in", data={"login": "x" * 6_000_000})

    assert answer.status_code == 413


def test_what_postgres_cannot_store_is_refused_as_input(database_url: str, visitors: Visitors) -> None:
    """NUL in a form, a query or a path is 400, not a fault of ours."""
    viewer = signed_in(visitors, add_person(database_url, Role.VIEWER))
    viewer.get("/profile")

    assert viewer.post("/profile", name="a\0b").status_code == 400
    assert viewer.get("/profile?x=%00").status_code == 400
    assert viewer.post("/sign-in", login="a\0b", password="x").status_code == 400


def test_secrets_and_texts_stay_out_of_the_logs(
    database_url: str,
    visitors: Visitors,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Passwords, cookies, form tokens, notes and what was searched for."""
    caplog.set_level(logging.DEBUG)
    person = add_person(database_url, Role.VIEWER)
    viewer = visitors()
    viewer.get("/sign-in")
    viewer.post("/sign-in", login=person.login, password="a wrong password")
    viewer.sign_in(person)
    viewer.get("/decisions?text=a+searched+text")
    viewer.get("/profile")
    viewer.post("/profile", name="a typed note")
    cookies = [cookie.value or "" for cookie in viewer.client.cookies.jar]
    logged = [record.getMessage() for record in caplog.records if not record.name.startswith("httpx")]
    written = "\n".join(logged) + "".join(capsys.readouterr())
    secrets = [PASSWORD, "a wrong password", "searched", "a typed note", viewer.csrf, *cookies]

    assert len(cookies) >= 2
    assert [secret for secret in secrets if secret and secret in written] == []


def test_the_client_secret_is_masked_wherever_settings_are_shown(database_url: str) -> None:
    """In reprs, and as a value that no log line may hold."""
    settings = settings_at(
        database_url,
        HUSHGATE_REVIEW_OIDC_ISSUER="https://id.example.org",
        HUSHGATE_REVIEW_OIDC_CLIENT_ID="hushgate",
        HUSHGATE_REVIEW_OIDC_CLIENT_SECRET="the client secret",
    )

    assert "the client secret" not in repr(settings)
    assert "the client secret" in secret_values(settings)
    assert ADDRESS in settings.review_url


def test_a_provider_without_https_or_without_our_client_id_is_a_configuration_error(
    database_url: str,
) -> None:
    """Reported when the server starts, by the variable's name."""
    for wrong in (
        {"HUSHGATE_REVIEW_OIDC_ISSUER": "http://id.example.org", "HUSHGATE_REVIEW_OIDC_CLIENT_ID": "x"},
        {"HUSHGATE_REVIEW_OIDC_ISSUER": "https://id.example.org"},
        {
            "HUSHGATE_REVIEW_OIDC_ISSUER": "http://localhost.evil.example",
            "HUSHGATE_REVIEW_OIDC_CLIENT_ID": "x",
        },
    ):
        with pytest.raises(ValueError, match="HUSHGATE_REVIEW_OIDC"):
            settings_at(database_url, **wrong)


@pytest.mark.parametrize("proxies", ["*", "0.0.0.0/0", "::/0", "10.0.0.1,proxy.example.org", ","])
def test_only_addresses_are_believed_to_be_proxies(database_url: str, proxies: str) -> None:
    """A trusted proxy names the client of each request: only addresses are accepted, not names or ``*``."""
    with pytest.raises(ValueError, match="HUSHGATE_REVIEW_PROXIES"):
        settings_at(database_url, HUSHGATE_REVIEW_PROXIES=proxies)


def test_a_form_sent_while_the_database_is_away_is_given_back(stack: Stack, template: str) -> None:
    """503 with what was typed; sent again when the database is back, it works."""
    url = create_database(stack.database_url, "guards_away", template)
    with site(url) as running, psycopg.connect(stack.database_url, autocommit=True) as owner:
        viewer = signed_in(running, add_person(url, Role.VIEWER))
        viewer.get("/profile")
        owner.execute("ALTER DATABASE guards_away ALLOW_CONNECTIONS false")
        owner.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'guards_away'")
        away = viewer.post("/profile", name="Kim during an outage", keys_on="on")
        elsewhere = viewer.client.post("/profile", data={"name": "not from here"})
        owner.execute("ALTER DATABASE guards_away ALLOW_CONNECTIONS true")

        assert (away.status_code, "Kim during an outage" in away.text) == (503, True)
        assert (elsewhere.status_code, "not from here" in elsewhere.text) == (403, False)

        assert viewer.post("/profile", name="Kim during an outage", keys_on="on").status_code == 303
        assert "Kim during an outage" in viewer.get("/profile").text
