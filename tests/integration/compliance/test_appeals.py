"""Appeals: three ways in, a person who did not rule, the decision as it was, one event, and the way out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from httpx2 import Response
from jsonschema import Draft202012Validator
from psycopg.types.json import Jsonb
from starlette.testclient import TestClient
from uuid_utils.compat import uuid7

from compliance.appeals.links import signed_token
from compliance.appeals.settling import settle_outcomes
from db.people.records import Person, Role
from db.reviews.rulings import UNDO_WINDOW
from review.http.visit import SESSION_COOKIE
from tasks.webhooks.bodies import webhook_schema
from tests.support.pools import in_pool
from tests.support.review_world import APPEAL_SECRET, World
from tests.support.reviewing import Visitor, add_person, site

SECRET = APPEAL_SECRET
WORDS = "I asked for a ladle, not for a fight."
REASONS = "The word is harmless in a kitchen."


@dataclass(slots=True, kw_only=True)
class Desk:
    """A site with appeals on, and two people: one who ruled, one who did not."""

    url: str
    world: World
    client: TestClient
    visitor: Any
    fresh: Person
    token: str = ""

    def decision(self, **settings: object) -> UUID:
        """A new sealed decision of a new version of the settings."""
        self.setting(**settings)
        return self.world._decision().decision_id

    def setting(self, **settings: object) -> None:
        """A new version of the account's settings; appeals are on unless told otherwise."""
        version = self.world.one("SELECT max(version) FROM ai_rules WHERE user_id = 'acme'") or 0
        values = {"appeals_enabled": True, "flagged_keywords": ["ladle"]} | settings
        self.world.add("ai_rules", user_id="acme", version=version + 1, changed_by="kim", **values)

    def api(self, method: str, path: str, body: object | None = None) -> Response:
        """A request with an API token that has every scope."""
        headers = {"Authorization": f"Bearer {self.token}"}
        return self.client.request(method, f"/api/v1{path}", json=body, headers=headers)

    def taken(self, decision_id: UUID) -> str:
        """An appeal by API; its id."""
        answer = self.api("POST", f"/decisions/{decision_id}/appeals", {"text": WORDS})
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    def settle(self, later: timedelta = UNDO_WINDOW) -> int:
        """What the worker's task does at a later moment."""
        return in_pool(
            self.url,
            lambda source: settle_outcomes(source, datetime.now(UTC) + later),
            role="hushgate_worker",
        )

    def events(self, appeal_id: str) -> list[dict[str, Any]]:
        """The bodies of the appeal's outgoing events."""
        query = "SELECT coalesce(jsonb_agg(body), '[]') FROM outgoing_events WHERE key = %s"
        found: list[dict[str, Any]] = self.world.one(query, appeal_id)
        return found


@pytest.fixture(scope="module")
def desk(database_url: str) -> Iterator[Desk]:
    """One site for the module; each test has decisions of its own."""
    with (
        World(database_url, "acme") as world,
        site(database_url, HUSHGATE_APPEAL_SECRET=SECRET) as visitor,
    ):
        fresh = add_person(database_url, Role.LEAD, Role.ACCOUNT_ADMIN)
        made = Desk(url=database_url, world=world, client=visitor().client, visitor=visitor, fresh=fresh)
        made.token = made.world.token(fresh.person_id)
        yield made


def signed_in(desk: Desk, person: Person | None = None) -> Visitor:
    """A visitor who is signed in as this person, or as the one who has not ruled."""
    visitor: Visitor = desk.visitor()
    token = desk.world.session((person or desk.fresh).person_id)
    visitor.client.cookies.set(SESSION_COOKIE, token, domain="127.0.0.1")
    return visitor


def link(desk: Desk, decision_id: UUID) -> str:
    """The path of a link that the API made."""
    answer = desk.api("POST", f"/decisions/{decision_id}/appeal-link")
    assert answer.status_code == 201, answer.text
    return str(answer.json()["url"]).removeprefix("https://127.0.0.1")


def test_an_appeal_by_link_restores_the_message_and_is_reported_once(desk: Desk) -> None:
    """From the author's page to the outcome on it: the message is back, and one event leaves."""
    decision_id = desk.decision()
    path, author = link(desk, decision_id), desk.visitor()
    before = author.get(path)
    sent = author.post(path, text=WORDS)
    appeal_id = str(desk.world.one("SELECT id FROM appeals WHERE decision_id = %s", decision_id))
    reviewer = signed_in(desk)
    page = reviewer.get(f"/appeals/{appeal_id}")
    decided = reviewer.post(
        f"/appeals/{appeal_id}/outcome", outcome="restored", statement=REASONS, reason="RULE_TOO_BROAD"
    )
    waiting, early = author.get(path).text, desk.settle(timedelta(0))
    settled, again = desk.settle(), desk.settle()
    after = author.get(path).text
    (event,) = desk.events(appeal_id)

    assert (before.status_code, sent.status_code, decided.status_code) == (200, 303, 303)
    assert "some message_text" in before.text
    assert WORDS in page.text
    assert "some rejected draft" in page.text
    assert REASONS not in waiting
    assert (early, settled, again) == (0, 1, 0)
    assert REASONS in after
    assert desk.world.one("SELECT count(*) FROM messages WHERE decision_id = %s", decision_id) > 0
    assert event["outcome"] == "restored"
    assert (event["statement"], event["effect"], event["source"]) == (REASONS, "restored", "link")
    body = {"type": "appeal.decided", "timestamp": event["decided_at"], "data": event}
    Draft202012Validator(webhook_schema()).validate(body)


def test_who_ruled_on_the_decision_cannot_decide(desk: Desk) -> None:
    """On the page, by API, and also when the ruling was withdrawn; another person can."""
    decision_id = desk.decision()
    ruled = add_person(desk.url, Role.LEAD)
    visitor = signed_in(desk, ruled)
    visitor.get(f"/decisions/{decision_id}")
    visitor.post(f"/decisions/{decision_id}/review", ruling="agree", seen="")
    review_id = desk.world.one("SELECT id FROM decision_reviews WHERE decision_id = %s", decision_id)
    visitor.post(f"/reviews/{review_id}/undo")
    appeal_id = desk.taken(decision_id)
    page = visitor.get(f"/appeals/{appeal_id}").text
    refused = visitor.post(f"/appeals/{appeal_id}/outcome", outcome="upheld", statement=REASONS)
    by_api = desk.client.post(
        f"/api/v1/appeals/{appeal_id}/outcome",
        json={"outcome": "upheld", "statement": REASONS},
        headers={"Authorization": f"Bearer {desk.world.token(ruled.person_id)}"},
    )
    other = desk.api("POST", f"/appeals/{appeal_id}/outcome", {"outcome": "upheld", "statement": REASONS})

    assert "another person must decide" in page
    assert 'name="outcome"' not in page
    assert refused.status_code == 409
    assert (by_api.status_code, by_api.json()["title"]) == (409, "ORIGINAL_REVIEWER")
    assert (other.status_code, other.json()["outcome"]) == (200, "upheld")
    assert desk.world.one("SELECT count(*) FROM messages WHERE decision_id = %s", decision_id) == 0


def test_who_closed_the_message_cannot_decide(desk: Desk) -> None:
    """The appeal is about what this person did."""
    decision_id, closed = desk.decision(), add_person(desk.url, Role.LEAD)
    row = {"decision_at": datetime.now(UTC), "created_at": datetime.now(UTC), "conversation_id": "c"}
    row |= {"message_id": "m", "scope": "chat", "outcome": "dismissed", "released": False, "rules_version": 1}
    desk.world.of_account(
        "answers", decision_id=decision_id, person_id=closed.person_id, person=closed.login, **row
    )
    appeal_id, visitor = desk.taken(decision_id), signed_in(desk, closed)
    page = visitor.get(f"/appeals/{appeal_id}").text
    refused = visitor.post(f"/appeals/{appeal_id}/outcome", outcome="upheld", statement=REASONS)

    assert "another person must decide" in page
    assert refused.status_code == 409


def test_an_outcome_is_undone_within_its_minute_and_not_later(desk: Desk) -> None:
    """The undo opens the appeal, seals the message again, and nothing is reported; then it is too late."""
    decision_id = desk.decision()
    appeal_id, reviewer = desk.taken(decision_id), signed_in(desk)
    form = {"outcome": "restored", "statement": REASONS, "reason": "RULE_TOO_BROAD"}
    reviewer.get(f"/appeals/{appeal_id}")
    reviewer.post(f"/appeals/{appeal_id}/outcome", **form)
    undone = reviewer.post(f"/appeals/{appeal_id}/undo")
    state = desk.api("GET", f"/appeals/{appeal_id}").json()
    sealed_again = desk.world.one("SELECT count(*) FROM quarantine WHERE decision_id = %s", decision_id)
    desk.settle()
    nothing = desk.events(appeal_id)
    reviewer.get(f"/appeals/{appeal_id}")
    reviewer.post(f"/appeals/{appeal_id}/outcome", **form)
    desk.settle()
    late = reviewer.post(f"/appeals/{appeal_id}/undo")

    assert undone.status_code == 303
    assert (state["state"], state["outcome"], state["statement"]) == ("open", None, None)
    assert sealed_again > 0
    assert nothing == []
    assert late.status_code == 409
    assert len(desk.events(appeal_id)) == 1


def test_of_two_outcomes_at_once_one_is_stored(desk: Desk) -> None:
    """Two people decide the same appeal differently: one review, and the other person is refused."""
    decision_id = desk.decision()
    appeal_id, other = desk.taken(decision_id), add_person(desk.url, Role.LEAD)
    restored = {"outcome": "restored", "statement": REASONS, "reason": "RULE_TOO_BROAD"}
    upheld = {"outcome": "upheld", "statement": REASONS}
    given = ((signed_in(desk), restored), (signed_in(desk, other), upheld))
    for reviewer, _ in given:
        reviewer.get(f"/appeals/{appeal_id}")

    def decide(one: tuple[Visitor, dict[str, str]]) -> int:
        return one[0].post(f"/appeals/{appeal_id}/outcome", **one[1]).status_code

    with ThreadPoolExecutor(2) as threads:
        answers = sorted(threads.map(decide, given))

    assert answers == [303, 409]
    query = "SELECT count(*) FROM decision_reviews WHERE decision_id = %s AND source = 'appeal'"
    assert desk.world.one(query, decision_id) == 1


def test_one_appeal_for_each_decision(desk: Desk) -> None:
    """The same text again is the same appeal; another text is refused by its name."""
    decision_id = desk.decision()
    path = f"/decisions/{decision_id}/appeals"
    first = desk.api("POST", path, {"text": WORDS})
    again = desk.api("POST", path, {"text": f" {WORDS}\n"})
    other = desk.api("POST", path, {"text": "Something else."})

    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["id"] == again.json()["id"]
    assert (other.status_code, other.json()["title"]) == (409, "ALREADY_APPEALED")
    lines = "SELECT count(*) FROM access_log WHERE decision_id = %s AND action = 'appeal'"
    assert desk.world.one(lines, decision_id) == 1


@pytest.mark.parametrize(
    ("settings", "code"),
    [({"appeals_enabled": False}, "APPEALS_OFF"), ({"appeal_within_days": 0.001}, "TOO_LATE")],
)
def test_an_appeal_is_refused_by_name(desk: Desk, settings: dict[str, object], code: str) -> None:
    """By API with the code, by link in words; the account's settings of now count."""
    decision_id = desk.decision()
    path = link(desk, decision_id)
    desk.setting(**settings)
    by_api = desk.api("POST", f"/decisions/{decision_id}/appeals", {"text": WORDS})
    author = desk.visitor()
    shown = author.get(path)
    author.get("/sign-in")
    by_link = author.post(path, text=WORDS)

    assert (by_api.status_code, by_api.json()["title"]) == (409, code)
    assert "<textarea" not in shown.text
    assert by_link.status_code == 409


@pytest.mark.parametrize("text", ["", " \n", "x" * 4001])
def test_the_text_of_an_appeal_is_bounded(desk: Desk, text: str) -> None:
    """An empty or too long text is refused in all three ways, and stays in the form."""
    decision_id = desk.decision()
    author, reviewer, path = desk.visitor(), signed_in(desk), link(desk, decision_id)
    author.get(path)
    reviewer.get(f"/decisions/{decision_id}/appeal")

    assert desk.api("POST", f"/decisions/{decision_id}/appeals", {"text": text}).status_code == 422
    assert author.post(path, text=text).status_code == 422
    assert reviewer.post(f"/decisions/{decision_id}/appeal", text=text).status_code == 422
    assert desk.world.one("SELECT count(*) FROM appeals WHERE decision_id = %s", decision_id) == 0


def test_a_person_enters_an_appeal_on_behalf_of_the_author(desk: Desk) -> None:
    """From the decision's page; the form then leads to the appeal, and the access log has both."""
    decision_id, reviewer = desk.decision(), signed_in(desk)
    form = reviewer.get(f"/decisions/{decision_id}/appeal")
    entered = reviewer.post(f"/decisions/{decision_id}/appeal", text=WORDS)
    reviewer.get(entered.headers["location"])
    again = reviewer.get(f"/decisions/{decision_id}/appeal")
    query = "SELECT array_agg(action ORDER BY id) FROM access_log WHERE decision_id = %s"

    assert f"/decisions/{decision_id}/appeal" in reviewer.get(f"/decisions/{decision_id}").text
    assert "/appeal/" in form.text
    assert again.headers["location"] == entered.headers["location"]
    assert desk.world.one(query, decision_id)[:3] == ["read", "appeal", "read"]
    assert WORDS in reviewer.get("/appeals").text


def test_a_link_names_one_decision_and_expires(desk: Desk) -> None:
    """A changed, cut or expired link, and one for a decision that is not there, look the same."""
    decision_id, other = desk.decision(), desk.decision()
    now, tomorrow = datetime.now(UTC), datetime.now(UTC) + timedelta(days=1)
    good = signed_token(SECRET, decision_id, tomorrow)
    of_other = signed_token(SECRET, other, tomorrow)
    bad = {
        "other secret": signed_token("another secret of 32 characters..", decision_id, tomorrow),
        "expired": signed_token(SECRET, decision_id, now - timedelta(seconds=1)),
        "other decision": of_other[:20] + good[20:],
        "longer": good[:21] + of_other[21:29] + good[29:-1] + ("A" if good[-1] != "A" else "B"),
        "cut": good[:-4],
        "no decision": signed_token(SECRET, uuid7(), tomorrow),
        "no token": "%C3%A9",
    }
    author = desk.visitor()
    answers = {name: author.get(f"/appeal/{token}") for name, token in bad.items()}
    works = author.get(f"/appeal/{good}").status_code
    sent = {name: author.post(f"/appeal/{token}", text=WORDS).status_code for name, token in bad.items()}

    assert works == 200
    assert {answer.status_code for answer in answers.values()} == {410}
    assert len({re.sub(r"[0-9a-f]{64}|/appeal/\S+", "", answer.text) for answer in answers.values()}) == 1
    assert set(sent.values()) == {410}
    assert desk.world.one("SELECT count(*) FROM appeals WHERE decision_id = %s", decision_id) == 0


def test_of_two_appeals_by_one_link_at_once_one_is_stored(desk: Desk) -> None:
    """Both tabs then show the same appeal; sending it again says that it is there already."""
    decision_id = desk.decision()
    path, tabs = link(desk, decision_id), [desk.visitor(), desk.visitor()]
    for tab in tabs:
        tab.get(path)
    with ThreadPoolExecutor(2) as both:
        sent = list(both.map(lambda tab, text: tab.post(path, text=text), tabs, ("First.", "Second.")))
    again = tabs[0].post(path, text="Third.")
    rows = desk.world.one("SELECT count(*) FROM appeals WHERE decision_id = %s", decision_id)

    assert sorted(answer.status_code for answer in sent) == [303, 409]
    assert (again.status_code, rows) == (409, 1)


def test_a_link_ends_with_its_decision(desk: Desk) -> None:
    """After the decision was deleted, reading and sending answer as for an unknown link."""
    decision_id = desk.decision()
    path, author = link(desk, decision_id), desk.visitor()
    before = author.get(path).status_code
    desk.world.one("SELECT set_config('hushgate.erasing', 'on', false)")
    desk.world.one("DELETE FROM ai_decisions WHERE id = %s RETURNING id", decision_id)
    desk.world.one("SELECT set_config('hushgate.erasing', '', false)")
    after = [author.get(path).status_code, author.post(path, text=WORDS).status_code]

    assert (before, after) == (200, [410, 410])
    assert desk.world.one("SELECT count(*) FROM appeals WHERE decision_id = %s", decision_id) == 0


def test_the_page_of_a_link_tells_the_author_nothing_else(desk: Desk) -> None:
    """Neither account, rule, reason, score, reviewers nor the stopped draft; and no form of another site."""
    decision_id = desk.decision()
    appeal_id, path = desk.taken(decision_id), link(desk, desk.decision())
    shown = desk.visitor().get(path).text
    stranger = desk.visitor()
    stranger.get(path)
    form = {"text": WORDS, "csrf": stranger.csrf}
    forged = stranger.client.post(path, data=form, headers={"Origin": "https://evil.example"})
    without = stranger.client.post(path, data={"text": WORDS})

    for secret in ("acme", "rule", "draft", "some reason", "author_id", "category", str(appeal_id)):
        assert secret not in shown.partition("<main")[2]
    assert (forged.status_code, without.status_code) == (403, 403)


def test_requests_for_one_link_are_limited(desk: Desk) -> None:
    """After thirty in a minute the next ones wait, also with other addresses."""
    path = link(desk, desk.decision())
    statuses = [desk.visitor().get(path).status_code for _ in range(31)]

    assert statuses == [200] * 30 + [429]


def test_the_page_shows_the_settings_of_then(desk: Desk) -> None:
    """A rule that came later is not on the page; the version that the decision used is."""
    decision_id = desk.decision()
    appeal_id = desk.taken(decision_id)
    desk.setting(moderation_thresholds=Jsonb({"later": 0.1}))
    page = signed_in(desk).get(f"/appeals/{appeal_id}").text

    assert "later" not in page.partition("<main")[2]
    assert re.search(r"<dt>Version</dt><dd>1, by", page)


def test_people_see_appeals_of_their_accounts_only(desk: Desk) -> None:
    """Lists and pages of another account have none of it."""
    appeal_id = desk.taken(desk.decision())
    elsewhere = signed_in(desk, add_person(desk.url, Role.LEAD, account="another-shop"))

    assert elsewhere.get(f"/appeals/{appeal_id}").status_code == 404
    assert WORDS not in elsewhere.get("/appeals").text
    assert appeal_id in signed_in(desk).get("/appeals").text


def test_due_dates_are_marked(desk: Desk) -> None:
    """An open appeal past its date is overdue, one near it due soon; decided ones are neither."""
    late, soon = desk.taken(desk.decision()), desk.taken(desk.decision())
    now = datetime.now(UTC)
    desk.world.one("UPDATE appeals SET due_at = %s WHERE id = %s RETURNING 1", now - timedelta(days=1), late)
    desk.world.one("UPDATE appeals SET due_at = %s WHERE id = %s RETURNING 1", now + timedelta(days=1), soon)
    listed = {each["id"]: each["overdue"] for each in desk.api("GET", "/appeals?limit=500").json()["appeals"]}
    page = signed_in(desk).get("/appeals").text

    assert (listed[late], listed[soon]) == (True, False)
    assert page.index(late) < page.index(soon)
    assert "1 overdue" in page
    assert "1 due soon" in page
