"""The page Connect: model servers are tested, stored sealed, and shown without their keys."""

from __future__ import annotations

import base64
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row
from selectolax.lexbor import LexborHTMLParser

from cli.doctor import live_calls
from cli.review.site import model_answers
from db.people.records import Role
from review.services.first_run import FirstRunServices
from sandbox.server import SandboxHandle
from tests.support.reviewing import Visitor, Visitors, add_person, site_with
from worker.model import OPENAI_MODERATION
from worker.setting_description import RiskText
from worker.settings import ModelRole, Settings, StoredServer

SECRETS_KEY = base64.b64encode(bytes(range(32))).decode()
KEY = "sk-key-of-the-test"
MARKUP = "<script>alert(1)</script>"
CARRIED = re.compile(r'name="model_carried" value="([^"]+)"')
VERSION = re.compile(r'name="version" value="([^"]+)"')
DONE = re.compile(r'<li class="done">\s*<span>([^<]+)</span>')


def services(**environment: str) -> FirstRunServices:
    """The services of a review server beside workers with these variables."""
    known = {
        "DATABASE_URL": "postgresql://h/d",
        "REDIS_URL": "redis://h",
        "HUSHGATE_SECRETS_KEY": SECRETS_KEY,
    }
    return FirstRunServices(test_servers=partial(model_answers, Settings.model_validate(known | environment)))


@pytest.fixture
def visitors(url: str) -> Iterator[Visitors]:
    """Visitors of a site without any model."""
    with site_with(services(), url, HUSHGATE_SECRETS_KEY=SECRETS_KEY) as running_site:
        yield running_site


def admin_of(visitors: Visitors, url: str) -> Visitor:
    """An administrator of every account, on the page."""
    visitor = visitors()
    visitor.sign_in(add_person(url, Role.ACCOUNT_ADMIN))
    visitor.get("/connect")
    return visitor


def stored(url: str) -> dict[str, dict[str, Any]]:
    """The stored servers by role."""
    with psycopg.connect(url, row_factory=dict_row) as connection:
        return {row["role"]: row for row in connection.execute("SELECT * FROM model_servers").fetchall()}


def test_a_server_that_answers_is_saved_and_its_key_is_never_shown(
    visitors: Visitors, url: str, sandbox: SandboxHandle
) -> None:
    """The key is sealed; the access log says that there is one, and the first step is done."""
    admin = admin_of(visitors, url)
    form = {"model_url": f"{sandbox.base_url}/", "model_key": KEY, "model_model": "m", "what": "save"}
    before = admin.get("/").text
    saved = admin.post("/connect", **form)
    page = admin.get(saved.headers["location"]).text
    rows = stored(url)
    with psycopg.connect(url) as connection:
        logged = str(connection.execute("SELECT detail FROM access_log").fetchall())
    log_page = admin.get("/access-log").text

    assert saved.status_code == 303
    assert (rows["model"]["url"], rows["model"]["model"]) == (sandbox.base_url, "m")
    assert KEY.encode() not in bytes(rows["model"]["sealed_key"])
    assert rows["moderation"]["url"] is None
    assert "A key is set" in page
    assert "'key': True, 'role'" not in logged
    assert "'model_server': 'model'" in logged
    assert KEY not in page + logged + log_page
    assert [DONE.findall(each) for each in (before, admin.get("/").text)] == [[], ["Connect a model"]]


def test_a_server_that_fails_is_saved_only_when_the_person_insists(
    visitors: Visitors, url: str, sandbox: SandboxHandle
) -> None:
    """The error is in a person's words, and the key need not be typed again."""
    admin = admin_of(visitors, url)
    sandbox.add_rule("chat", "401")
    form = {"model_url": sandbox.base_url, "model_key": KEY, "moderation_use": "off"}
    failed = admin.post("/connect", **form, what="save")
    before, carried = stored(url), CARRIED.findall(failed.text)[0]
    again = {**form, "model_key": "", "model_carried": carried}
    elsewhere = admin.post("/connect", **again | {"model_url": "http://127.0.0.1:9/v1"}, what="save_anyway")
    after_other = stored(url)["model"]["sealed_key"]
    insisted = admin.post("/connect", **again, what="save_anyway")
    sandbox.reset()

    assert "The server refuses the key. Enter another key." in failed.text
    assert KEY not in failed.text
    assert before == {}
    assert elsewhere.status_code == insisted.status_code == 303
    assert after_other is None, "a key is not sent to an address that it was not entered for"
    assert stored(url)["model"]["sealed_key"] is not None
    assert stored(url)["moderation"]["model"] == "off"


def test_moderation_is_switched_off_with_its_risk_in_view(
    visitors: Visitors, url: str, sandbox: SandboxHandle
) -> None:
    """Nothing is stored until the person insists; a form without that change is saved at once."""
    admin = admin_of(visitors, url)
    form = {"model_url": sandbox.base_url, "moderation_use": "off"}
    asked = admin.post("/connect", **form, what="save")
    before = stored(url)
    insisted = admin.post("/connect", **form, what="save_anyway")
    again = admin.post("/connect", **form, what="save")

    assert RiskText.MODERATOR_GONE % {"moderator": OPENAI_MODERATION} in asked.text
    assert 'value="save_anyway"' in asked.text
    assert before == {}
    assert [insisted.status_code, again.status_code] == [303, 303]


def test_a_server_without_embeddings_has_not_answered_for_them(
    visitors: Visitors, url: str, sandbox: SandboxHandle
) -> None:
    """The server is saved all the same: searches use words."""
    admin = admin_of(visitors, url)
    sandbox.add_rule("embeddings", "404")
    tested = admin.post("/connect", model_url=sandbox.base_url, what="test")
    saved = admin.post("/connect", model_url=sandbox.base_url, what="save")
    sandbox.reset()

    assert badges(tested.text) == ["answered", "answered", "answered", "not offered"]
    assert saved.status_code == 303


def test_a_server_that_does_not_answer_is_not_called_one_without_embeddings(
    visitors: Visitors, url: str, sandbox: SandboxHandle
) -> None:
    """Nor is one that refuses the key: what it has is not known."""
    admin = admin_of(visitors, url)
    away = admin.post("/connect", model_url="http://127.0.0.1:9/v1", what="test").text
    sandbox.add_rule("embeddings", "401")
    refused = admin.post("/connect", model_url=sandbox.base_url, what="test").text
    sandbox.reset()

    assert badges(away) == ["failed"] * 4
    assert badges(refused) == ["answered", "answered", "answered", "failed"]
    assert "gives no embeddings" not in away + refused
    assert "The server refuses the key. Enter another key." in refused


def test_a_proxy_that_cannot_be_used_is_no_fault_of_the_typed_server(
    visitors: Visitors, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The person reads whom to ask, and each line names the variable for the operator."""
    for name in ("NO_PROXY", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
    page = admin_of(visitors, url).post("/connect", model_url="https://model.example/v1", what="test").text

    assert badges(page) == ["failed"] * 4
    assert page.count("The proxy cannot be used. Ask the operator of this server.") == 4
    assert page.count("ALL_PROXY: expected") == 4


def badges(page: str) -> list[str]:
    """What the page says of each call."""
    return sorted(each.text() for each in LexborHTMLParser(page).css(".model-answers .badge"))


def test_the_roles_are_called_at_once_and_not_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that never answers has a connection of each role before the first call gives up."""
    monkeypatch.setattr(live_calls, "MOST_S", 2.0)
    held: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as silent:
        taker = threading.Thread(target=_hold_three, args=(silent, held))
        taker.start()
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        known = Settings.model_validate(
            {"DATABASE_URL": "postgresql://h/d", "REDIS_URL": "redis://h", "HUSHGATE_MODEL_TIMEOUT_S": "600"}
        )
        named = {role: "off" if role is ModelRole.EMBEDDINGS else "m" for role in ModelRole}
        servers = [
            StoredServer(role=role, url=address, key=None, model=model) for role, model in named.items()
        ]
        answers = model_answers(known, servers)
        taker.join()
    for each in held:
        each.close()

    assert [each.answered for each in answers] == [False] * 3
    assert len(held) == 3


def _hold_three(silent: socket.socket, held: list[socket.socket]) -> None:
    """Take three connections, the later ones soon after the first, and answer nothing."""
    silent.settimeout(60)
    held.append(silent.accept()[0])
    silent.settimeout(1.5)
    with suppress(TimeoutError):
        while len(held) < 3:
            held.append(silent.accept()[0])


def test_servers_of_another_administrator_are_not_replaced_unseen(
    visitors: Visitors, url: str, sandbox: SandboxHandle
) -> None:
    """A form from before is shown again with what was typed; saved again, its servers are stored."""
    first, second = admin_of(visitors, url), admin_of(visitors, url)
    form = {"model_url": sandbox.base_url, "moderation_use": "off", "what": "save_anyway", "version": ""}
    saved = [first.post("/connect", **form, model_model=name).status_code for name in ("a", "twice")]
    refused = second.post("/connect", **form, model_model="b")
    kept = stored(url)["model"]["model"]
    again = {**form, "version": VERSION.findall(refused.text)[0]}
    insisted = second.post("/connect", **again, model_model="b")

    assert saved == [303, 303], "a form that is sent twice is no conflict"
    assert refused.status_code == 409
    assert 'value="b"' in refused.text
    assert kept == "twice"
    assert insisted.status_code == 303
    assert stored(url)["model"]["model"] == "b"


def test_a_key_with_other_letters_is_refused_in_words(
    visitors: Visitors, url: str, sandbox: SandboxHandle
) -> None:
    """No call is made with such a key, and nothing about its length is said."""
    admin = admin_of(visitors, url)
    refused = admin.post("/connect", model_url=sandbox.base_url, model_key="sk-k\u00e9y", what="save")

    assert refused.status_code == 400
    assert "characters" not in refused.text
    assert stored(url) == {}


def test_a_test_saves_nothing(visitors: Visitors, url: str, sandbox: SandboxHandle) -> None:
    """And shows how long each call took; what was typed is shown as text."""
    admin = admin_of(visitors, url)
    tested = admin.post("/connect", model_url=sandbox.base_url, model_model=MARKUP, what="test")

    assert "Every model that the servers offer answered." in tested.text
    assert MARKUP not in tested.text
    assert "&lt;script&gt;" in tested.text
    assert re.search(r"answered in \d+ ms", tested.text)
    assert stored(url) == {}


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("ftp://h/v1", "Write an address such as"),
        ("file:///etc/passwd", "Write an address such as"),
        ("", "Write an address such as"),
        ("http://user:pw@h/v1", "the key has its own field"),
        ("http://h/v1?key=x", "the key has its own field"),
        ("https://api.openai.com/v1", "this vendor requires a key"),
    ],
)
def test_an_address_that_is_no_server_is_refused(
    visitors: Visitors, url: str, address: str, said: str
) -> None:
    """Nothing is called."""
    admin = admin_of(visitors, url)
    refused = admin.post("/connect", model_url=address, what="save")

    assert refused.status_code == 400
    assert said in refused.text
    assert stored(url) == {}


def test_what_the_environment_sets_is_shown_and_kept(url: str, sandbox: SandboxHandle) -> None:
    """The page names the variable; a form cannot change the server."""
    named = {"HUSHGATE_MODEL_URL": sandbox.base_url, "HUSHGATE_MODEL_KEY": KEY, "HUSHGATE_JUDGE": "j"}
    known = named | {"HUSHGATE_SECRETS_KEY": SECRETS_KEY}
    with site_with(services(**named), url, **known) as visitors:
        admin = admin_of(visitors, url)
        page = admin.get("/connect").text
        saved = admin.post("/connect", model_url="http://other.example/v1", model_model="m", what="save")

    assert "HUSHGATE_MODEL_URL" in page
    assert "HUSHGATE_JUDGE" in page
    assert KEY not in page
    assert saved.status_code == 303
    assert stored(url)["model"]["url"] is None
    assert stored(url)["model"]["model"] == "m"


def test_without_a_key_for_secrets_no_key_is_stored(url: str, sandbox: SandboxHandle) -> None:
    """A server without a key may be."""
    with site_with(services(), url) as visitors:
        admin = admin_of(visitors, url)
        refused = admin.post("/connect", model_url=sandbox.base_url, model_key=KEY, what="save")
        saved = admin.post("/connect", model_url=sandbox.base_url, what="save")

    assert "HUSHGATE_SECRETS_KEY" in refused.text
    assert (refused.status_code, saved.status_code) == (400, 303)


def test_a_key_that_does_not_open_is_asked_for_again(
    visitors: Visitors, url: str, sandbox: SandboxHandle
) -> None:
    """Workers do not use such a server, so the page does not call its key set."""
    form = {"model_url": sandbox.base_url, "model_key": KEY, "what": "save"}
    admin_of(visitors, url).post("/connect", **form)
    other = base64.b64encode(bytes(32)).decode()
    with site_with(services(HUSHGATE_SECRETS_KEY=other), url, HUSHGATE_SECRETS_KEY=other) as restarted:
        page = admin_of(restarted, url).get("/connect").text

    assert "A key is set" not in page
    assert "Write the key again." in page


def test_tests_are_limited(visitors: Visitors, url: str, sandbox: SandboxHandle) -> None:
    """They cost money."""
    admin = admin_of(visitors, url)
    answers = [admin.post("/connect", model_url=sandbox.base_url, what="test") for _ in range(5)]

    assert [each.status_code for each in answers] == [200, 200, 200, 429, 429]
    assert f'value="{sandbox.base_url}"' in answers[-1].text, "what was typed is kept"
