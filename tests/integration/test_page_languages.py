"""Pages in other languages: nothing stays English, the reader's choice counts, programs read English."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import quote
from uuid import UUID

import pytest
from starlette.testclient import TestClient

from db.people.records import EVERY_ACCOUNT, Role
from features.feature import hook_values
from review.accounts.settings_form import form_of_account
from review.http.page_routes import PageRoute
from review.http.templating import PACKAGE
from review.http.visit import SESSION_COOKIE, csrf_token
from review.languages.choice import LANGUAGE_COOKIE
from review.languages.pseudo_locale import END, PSEUDO, START
from review.lists.filters import FIELDS_BY_NAME
from review.routes import PAGES
from tests.support.review_world import QUERIES, SAMPLES, World
from tests.support.reviewing import site
from tests.support.visible_text import content_texts, english_words, shown_texts
from worker.model import Account

DATA = "資料"
TEMPLATES = (PACKAGE / "templates", *hook_values("templates"))
Walked = tuple[World, TestClient, UUID]
PARAMETER = re.compile(r"\{(\w+)(?::\w+)?\}")
POSTED = [page for page in PAGES if page.methods == ("POST",) and not page.api]
FIELD = re.compile(r'name="(\w+)"')
FORM_FIELDS = frozenset(
    name
    for folder in TEMPLATES
    for template in folder.rglob("*.html")
    for name in FIELD.findall(template.read_text())
) | {*form_of_account(Account(user_id="any", version=0)).fields}
"""Of every form of every page."""
SENTENCE = re.compile(f"{START}[^{START}{END}]*{END}")
NOT_FOR_READERS = frozenset({"health"})
"""Pages of programs and of developers."""
SHOWN = [
    page for page in PAGES if page.methods == ("GET",) and not page.api and page.name not in NOT_FOR_READERS
]


@pytest.fixture(scope="module")
def walked(database_url: str) -> Iterator[Walked]:
    """A site over an account whose every text is in no language of the pages."""
    with World(database_url, DATA, lambda _field: DATA) as world, site(database_url) as visitor:
        roles = ((EVERY_ACCOUNT, role.value) for role in Role)
        person = world.person(*roles, name=DATA, login=f"{DATA}-walker")
        for sample in SAMPLES.values():
            sample(world, person)
        world.suggested()
        world.answered()
        world.shadowed()
        client = visitor().client
        client.cookies.set(SESSION_COOKIE, world.session(person), domain="127.0.0.1")
        yield world, client, person


def opened(walked: Walked, page: PageRoute, query: str = "") -> str:
    """A page in the pseudo-locale, with more in its query; empty when it is a file or a redirect."""
    world, client, person = walked
    path = PARAMETER.sub(lambda found: quote(str(SAMPLES[found[1]](world, person)), safe=""), page.path)
    cookies = {LANGUAGE_COOKIE: PSEUDO, SESSION_COOKIE: client.cookies[SESSION_COOKIE]}
    answer = client.get(
        "?".join(filter(None, (path, query or QUERIES.get(page.name, "").removeprefix("?")))),
        follow_redirects=False,
        headers={"Cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())},
    )
    assert answer.status_code in {200, 303, 400, 404, 409, 410}, (page.name, answer.status_code)
    return str(answer.text) if "html" in answer.headers.get("content-type", "") else ""


def without_sentences(text: str) -> str:
    """A text without its translated sentences, whose values may be names that a field takes."""
    while (shorter := SENTENCE.sub("", text)) != text:
        text = shorter
    return text


@pytest.mark.parametrize("page", SHOWN, ids=lambda page: page.name)
def test_every_text_of_a_page_is_marked_for_translation(walked: Walked, page: PageRoute) -> None:
    """In the pseudo-locale a page shows no English beside data, codes and names."""
    for _ in range(3 if page.name == "trial" else 1):  # of each kind one
        assert english_words(content_texts(opened(walked, page))) == set()


@pytest.mark.parametrize("value", ["", DATA], ids=["empty fields", "wrong fields"])
@pytest.mark.parametrize("page", POSTED, ids=lambda page: page.name)
def test_answers_to_forms_are_marked_for_translation(walked: Walked, page: PageRoute, value: str) -> None:
    """Empty or wrong fields are answered without an English sentence and without an internal error."""
    world, client, person = walked
    kept, token = client.cookies[SESSION_COOKIE], world.session(person)
    client.cookies.clear()
    path = PARAMETER.sub(lambda found: quote(str(SAMPLES[found[1]](world, person)), safe=""), page.path)
    answer = client.post(
        path,
        data=(dict.fromkeys(FORM_FIELDS, value) if value else {}) | {"csrf": csrf_token(token)},
        follow_redirects=False,
        headers={"Cookie": f"{LANGUAGE_COOKIE}={PSEUDO}; {SESSION_COOKIE}={token}"},
    )
    client.cookies.clear()
    client.cookies.set(SESSION_COOKIE, kept, domain="127.0.0.1")
    is_page = "html" in answer.headers.get("content-type", "") and answer.status_code != 303
    texts = [without_sentences(text) for text in content_texts(answer.text if is_page else "")]

    assert answer.status_code < 500
    assert english_words(texts) == set()


@pytest.mark.parametrize("page", SHOWN, ids=lambda page: page.name)
def test_answers_to_wrong_queries_are_marked_for_translation(walked: Walked, page: PageRoute) -> None:
    """An address with values that no filter takes is answered without an English sentence."""
    fields = {*FIELDS_BY_NAME, "range", "scope", "measure", "state", "sort", "page", "after", "action"}
    query = "&".join(f"{name}={quote(DATA)}" for name in sorted(fields))
    texts = [without_sentences(text) for text in content_texts(opened(walked, page, query))]

    assert english_words(texts) == set()


def test_the_frame_of_pages_is_marked_for_translation(walked: Walked) -> None:
    """Header, navigation and user menu show no English."""
    page = next(page for page in SHOWN if page.name == "tokens")

    assert english_words(shown_texts(opened(walked, page))) == set()


def test_the_language_of_a_visitor(walked: Walked) -> None:
    """By Accept-Language, then by the cookie of the form; it returns only to pages of this site."""
    _, client, _ = walked
    client.cookies.clear()
    asked = client.get("/sign-in", headers={"Accept-Language": "vi"})
    csrf = re.search(r'name="csrf" value="(\w+)"', asked.text)
    assert csrf is not None
    form = {"csrf": csrf[1], "language": "vi", "next": "//evil.example/"}
    chosen = client.post("/language", data=form, follow_redirects=False)

    assert '<html lang="vi"' in asked.text
    assert "Đăng nhập" in asked.text
    assert (chosen.status_code, chosen.headers["location"]) == (303, "/")
    assert f"{LANGUAGE_COOKIE}=vi" in chosen.headers["set-cookie"]
    assert client.post("/language", data=form | {"language": "xx"}).status_code == 400
    assert client.post("/language", data=form | {"csrf": "x"}).status_code == 403


def test_the_language_of_a_person(walked: Walked) -> None:
    """The choice is stored with the person and counts before the cookie; programs read English."""
    world, client, _ = walked
    person = world.person((EVERY_ACCOUNT, "viewer"))
    client.cookies.clear()
    client.cookies.set(SESSION_COOKIE, world.session(person), domain="127.0.0.1")
    page = client.get("/profile/tokens").text
    csrf = re.search(r'name="csrf" value="(\w+)"', page)
    assert csrf is not None
    form = {"csrf": csrf[1], "language": "vi", "time_zone": "Asia/Ho_Chi_Minh", "next": "/profile"}
    client.post("/language", data=form)
    client.cookies.delete(LANGUAGE_COOKIE)
    stored = world.one("SELECT language || ' ' || time_zone FROM people WHERE id = %s", person)
    page = client.get("/profile", headers={"Accept-Language": "en"}).text
    api = client.get("/api/v1/rules/nowhere", headers={"Accept-Language": "vi"})
    client.post("/language", data=form | {"language": "", "time_zone": ""})

    assert stored == "vi Asia/Ho_Chi_Minh"
    assert "Hồ sơ" in page
    assert "UTC+7" in page
    assert api.json()["title"].isascii()
    assert world.one("SELECT language FROM people WHERE id = %s", person) is None
