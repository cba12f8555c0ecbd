"""Pages, JSON API and commands of webhooks."""

from __future__ import annotations

import re
from collections.abc import Iterator

import orjson
import psycopg
import pytest
from typer.testing import CliRunner

from cli.main import command_line
from db.people.records import Role
from tests.support.reviewing import Visitor, add_person, signed_in, site

SECRET = re.compile(r"whsec_[A-Za-z0-9+/=]{44}")
URL = "https://example.org/hook/s3cret?token=s3cret"


@pytest.fixture(scope="module")
def admin(database_url: str) -> Iterator[Visitor]:
    """An administrator of the account acme, signed in."""
    with site(database_url) as visitor:
        person = signed_in(visitor, add_person(database_url, Role.ACCOUNT_ADMIN, account="acme"))
        yield person


def logged(url: str) -> list[str]:
    """What the access log has of webhooks, oldest first."""
    with psycopg.connect(url) as connection:
        query = "SELECT detail FROM access_log WHERE action = 'webhook' ORDER BY id"
        rows = connection.execute(query).fetchall()
    return [str(row[0].get("change", row[0].get("what"))) for row in rows]


def test_an_endpoint_is_managed_on_the_pages(admin: Visitor, database_url: str) -> None:
    """The secret is shown at creation and rotation only; changes and readings of bodies are logged."""
    page = "/accounts/acme/webhooks"
    admin.get(page)
    added = admin.post(page, url=URL, description="note", types=["reply.created", "decision.made"])
    (shown,) = SECRET.findall(added.text)
    listed = admin.get(page)
    found = re.search(r'href="(/accounts/acme/webhooks/[0-9a-f-]{36})"', listed.text)
    assert found is not None
    assert (added.status_code, SECRET.findall(listed.text)) == (200, [])
    endpoint = found[1]
    assert SECRET.findall(admin.get(endpoint).text) == []
    assert shown[:10] in admin.get(endpoint).text
    (rotated,) = SECRET.findall(admin.post(f"{endpoint}/rotate").text)
    assert admin.post(f"{endpoint}/test").status_code == 303
    delivery = re.search(r'href="(/accounts/acme/webhooks/deliveries/\d+)"', admin.get(endpoint).text)
    assert delivery is not None
    assert "A test of this endpoint" in admin.get(delivery[1]).text
    assert admin.post(f"{delivery[1]}/replay").status_code == 409  # it waits already, due now
    assert admin.post(f"{endpoint}/state", change="disabled").status_code == 303
    assert admin.post(f"{endpoint}/test").status_code == 409
    assert admin.post(f"{endpoint}/state", change="other").status_code == 400
    assert admin.post(f"{endpoint}/state", change="enabled").status_code == 303
    assert admin.post(f"{endpoint}/remove").status_code == 400
    assert admin.post(f"{endpoint}/remove", sure="yes").status_code == 303
    assert admin.get(endpoint).status_code == 404

    assert rotated != shown
    assert logged(database_url) == [
        "added", "secret rotated", "test sent", "webhook delivery", "disabled", "enabled", "removed",
    ]  # fmt: skip


def test_the_access_log_has_no_whole_url(
    admin: Visitor, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Path and query may contain a secret of the receiver; auditors may read the log."""
    monkeypatch.setenv("DATABASE_URL", database_url)
    page, runner = "/accounts/acme/webhooks", CliRunner()
    admin.get(page)
    admin.post(page, url=URL, types=["reply.created"])
    (first,) = admin.get("/api/v1/accounts/acme/webhooks").json()["endpoints"]
    admin.get(page)
    admin.post(f"{page}/{first['id']}/remove", sure="yes")
    added = runner.invoke(command_line(), ["webhooks", "add", "acme", URL]).stdout
    (second,) = re.findall(r'"id":"([0-9a-f-]+)"', added)
    runner.invoke(command_line(), ["webhooks", "remove", second])
    with psycopg.connect(database_url) as connection:
        query = "SELECT detail FROM access_log WHERE action = 'webhook' ORDER BY id DESC LIMIT 4"
        found = [row[0] for row in connection.execute(query)][::-1]

    assert found == [
        {"change": change, "endpoint": endpoint, "origin": "https://example.org"}
        for endpoint in (first["id"], second)
        for change in ("added", "removed")
    ]


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"url": "http://example.org", "types": ["reply.created"]}, "expected https"),
        ({"url": "https://169.254.169.254/", "types": ["reply.created"]}, "public internet"),
        ({"url": "https://127.0.0.1/", "types": ["reply.created"]}, "public internet"),
        ({"url": "http://localhost/", "types": ["reply.created"]}, "HUSHGATE_WEBHOOK_LOOPBACK=true allows"),
        ({"url": URL, "types": ["unknown"]}, "Choose at least one type"),
        ({"url": URL, "types": ["reply.created"], "description": "x" * 201}, "at most 200"),
    ],
)
def test_what_cannot_be_used_is_refused(admin: Visitor, fields: dict[str, str], problem: str) -> None:
    """The form stays filled, and nothing is stored."""
    admin.get("/accounts/acme/webhooks")
    answer = admin.post("/accounts/acme/webhooks", **fields)

    assert answer.status_code == 422
    assert problem in answer.text
    assert "No endpoints yet" in answer.text
    assert fields["url"] in answer.text


def test_the_json_api_shows_endpoints_and_deliveries(admin: Visitor) -> None:
    """Without the secrets."""
    admin.get("/accounts/acme/webhooks")
    admin.post("/accounts/acme/webhooks", url=URL, types=["reply.created"])
    listed = admin.get("/api/v1/accounts/acme/webhooks")
    (endpoint,) = listed.json()["endpoints"]
    admin.get("/accounts/acme/webhooks")
    admin.post(f"/accounts/acme/webhooks/{endpoint['id']}/test")
    found = admin.get(f"/api/v1/accounts/acme/webhooks/{endpoint['id']}/deliveries?limit=1").json()
    (delivery,) = found["deliveries"]
    whole = admin.get(f"/api/v1/accounts/acme/webhooks/deliveries/{delivery['id']}").json()
    admin.get("/accounts/acme/webhooks")
    admin.post(f"/accounts/acme/webhooks/{endpoint['id']}/remove", sure="yes")

    assert (endpoint["url"], endpoint["types"], endpoint["state"]) == (URL, ["reply.created"], "enabled")
    assert "secret" not in endpoint
    assert not SECRET.search(listed.text)
    assert (delivery["state"], found["older"]) == ("waiting", None)
    assert whole["webhook_id"].startswith("msg_")
    assert whole["delivery"]["body"] == {
        "message": "A test of this endpoint. Answer with a status from 200 to 299."
    }


SUCCEEDED = """
    WITH event AS (
        INSERT INTO outgoing_events (
            user_id, conversation_id, type, key, body, created_at, streamed_at, fanned_out_at, withdrawn)
        VALUES ('acme', 'c', 'reply.created', 'gone', '{}', now(), now(), now(), 'message_deleted')
        RETURNING id
    )
    INSERT INTO webhook_deliveries (
        endpoint_id, event_row, user_id, conversation_id, state, attempts, ended_at, created_at)
    SELECT w.id, event.id, 'acme', 'c', 'succeeded', 1, now(), now() FROM event, webhook_endpoints w
    WHERE w.user_id = 'acme' RETURNING id
"""


def test_a_refused_replay_says_why(
    admin: Visitor, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the page and at the command line; the delivery stays a success."""
    monkeypatch.setenv("DATABASE_URL", database_url)
    admin.get("/accounts/acme/webhooks")
    admin.post("/accounts/acme/webhooks", url=URL, types=["reply.created"])
    with psycopg.connect(database_url, autocommit=True) as owner:
        ((number,),) = owner.execute(SUCCEEDED).fetchall()
    page = f"/accounts/acme/webhooks/deliveries/{number}"
    admin.get(page)
    refused = admin.post(f"{page}/replay")
    said = CliRunner().invoke(command_line(), ["webhooks", "replay", str(number)])
    shown = admin.get(page).text
    with psycopg.connect(database_url, autocommit=True) as owner:
        owner.execute("DELETE FROM webhook_endpoints WHERE user_id = 'acme'")

    assert (refused.status_code, said.exit_code) == (409, 1)
    assert "the message was deleted" in refused.text
    assert "the message was deleted" in said.output
    assert "succeeded" in shown


def test_commands_manage_endpoints(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """NDJSON in a pipe; the secret once; unknown ids, bad URLs and a disabled endpoint have exit codes."""
    monkeypatch.setenv("DATABASE_URL", database_url)
    runner = CliRunner()

    def run(*words: str) -> tuple[int, str]:
        result = runner.invoke(command_line(), ["webhooks", *words])
        return result.exit_code, result.stdout

    code, added = run("add", "shop", URL, "--type", "reply.created")
    (shown,) = SECRET.findall(added)
    identifier = re.findall(r'"id":"([0-9a-f-]+)"', added)[0]
    outputs = [run("list", "--account", "shop"), run("show", identifier), run("deliveries", identifier)]
    assert code == 0
    assert shown
    assert all(each[0] == 0 and not SECRET.search(each[1]) for each in outputs)
    assert run("test", identifier, "--wait", "0")[0] == 1  # no worker runs
    number = orjson.loads(run("deliveries", identifier)[1])["id"]
    code, whole = run("delivery", str(number))
    assert (code, orjson.loads(whole)["body"]["message"][:6]) == (0, "A test")
    assert "webhook delivery" in logged(database_url)
    assert run("delivery", "999999")[0] == 1
    assert SECRET.findall(run("rotate", identifier)[1]) != [shown]
    assert '"state":"disabled"' in run("disable", identifier)[1]
    assert run("test", identifier)[0] == 5
    assert run("enable", identifier)[0] == 0
    assert run("replay", "999999999")[0] == 1
    assert run("remove", identifier)[0] == 0
    assert run("show", identifier)[0] == 1
    for account, url in (("shop", "http://example.org"), ("shop", "https://10.0.0.1"), ("", URL)):
        assert run("add", account, url)[0] == 5
