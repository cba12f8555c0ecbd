"""Who may open what: the route table, walked with every role on this account, another one, and all."""

from __future__ import annotations

import re
from collections.abc import Iterator
from unittest.mock import patch
from uuid import UUID

import pytest
from starlette.responses import Response
from starlette.testclient import TestClient

from db.people.api_tokens import TokenScope
from db.people.records import EVERY_ACCOUNT, Role
from review.access import RIGHTS, WRITE_SCOPES, Right
from review.http.page_routes import PageRoute
from review.http.visit import SESSION_COOKIE, Visit, csrf_token
from review.routes import PAGES
from tests.support.review_world import OF_ACCOUNT, OWN, QUERIES, SAMPLES, SHARED, World
from tests.support.reviewing import site

HERE, ELSEWHERE = "acme", "another-shop"
PUBLIC_PAGES = {
    "health",
    "csp_report",
    "sign_in",
    "sign_in_post",
    "sign_in_link",
    "sign_in_link_post",
    "oidc_start",
    "oidc_back",
    "oidc_logout",
    "sign_in_code",
    "invitation",
    "invitation_join",
    "language",
    "appeal_link",  # the link is signed, and shows the author's own message only
    "appeal_link_post",
}
"""The only pages for people who are not signed in; another one needs a reason here."""
ON_EVERY_ACCOUNT = {
    "person_manage",
    "connect",
    "connect_post",
    "sample_data",
    "sample_data_add",
    "sample_data_remove",
}
"""Pages of the installation, or about a thing of one account, that ask for the right on every account."""
WORKED = {200, 201, 202, 204, 303}
UNUSABLE = {400, 409, 410, 415, 422}
"""What an empty form may get from who is allowed to send it."""
PARAMETER = re.compile(r"\{(\w+)(?::\w+)?\}")
GUARDED = [page for page in PAGES if page.right is not None]
Grants = tuple[tuple[str, Role], ...]
PERSONAS: dict[str, Grants] = {
    "no role": (),
    **{
        f"{role.value} {where}": ((account, role),)
        for role in Role
        for where, account in (("here", HERE), ("elsewhere", ELSEWHERE), ("everywhere", EVERY_ACCOUNT))
    },
    "viewer here, everything elsewhere": ((HERE, Role.VIEWER), *((ELSEWHERE, role) for role in Role)),
}


@pytest.fixture(scope="module")
def walked(database_url: str) -> Iterator[tuple[World, TestClient]]:
    """A running site over a database with something of everything."""
    with World(database_url, HERE) as world, site(database_url) as visitor:
        world.add("ai_rules", user_id=ELSEWHERE, version=1)
        world.add("ai_rules", user_id=HERE, version=1)
        yield world, visitor().client


def entered(world: World, grants: Grants) -> tuple[UUID, str]:
    """A new person with a session and an API token for it; the session's token."""
    person_id = world.person(*((account, role.value) for account, role in grants))
    token = world.session(person_id)
    world.token(person_id, token=f"hg_{token}")
    return person_id, token


@pytest.fixture(scope="module")
def readers(walked: tuple[World, TestClient]) -> dict[str, tuple[UUID, str]]:
    """A person of each kind for pages that change nothing when they are read."""
    return {persona: entered(walked[0], grants) for persona, grants in PERSONAS.items()}


async def _handed_out(_: Visit) -> Response:
    return Response("a text of this account")


@pytest.fixture(scope="module")
def leaking(database_url: str) -> Iterator[tuple[World, TestClient]]:
    """The same site with pages that check no account."""
    with (
        World(database_url, HERE) as world,
        patch("review.app.PAGES", (*PAGES, *LEAKS)),
        site(database_url) as visitor,
    ):
        yield world, visitor().client


def names(page: PageRoute) -> list[str]:
    """The parameters in a page's path."""
    return PARAMETER.findall(page.path)


def address(page: PageRoute, world: World, owner: UUID) -> str:
    """A page's path with things that are there, and the query it cannot do without."""
    path = PARAMETER.sub(lambda found: str(SAMPLES[found[1]](world, owner)), page.path)
    return path + QUERIES.get(page.name, "")


def ask(client: TestClient, page: PageRoute, path: str, token: str, **headers: str) -> int:
    """The status for the person of this session; forms are empty but for the right CSRF token.

    Changes by the JSON API have no session: they are asked for with an API token of the person.
    """
    client.cookies.clear()
    if page.api and page.methods != ("GET",):
        bearer = {"Authorization": f"Bearer hg_{token}"}
        return int(client.request(page.methods[0], path, json={}, headers=bearer | headers).status_code)
    client.cookies.set(SESSION_COOKIE, token, domain="127.0.0.1")
    method = page.methods[0]
    body = {"csrf": csrf_token(token)} if method == "POST" else None
    response = client.request(method, path, data=body, headers=headers, follow_redirects=False)
    if response.status_code == 303 and response.headers["location"].startswith("/sign-in?"):
        return 401
    return int(response.status_code)


def holds(grants: Grants, right: Right, account: str) -> bool:
    """Whether roles on an account, or on all, give a right there."""
    return any(where in {account, EVERY_ACCOUNT} and right in RIGHTS[role] for where, role in grants)


def expected(page: PageRoute, grants: Grants) -> set[int]:
    """The statuses that a page may answer, from nothing but its line in the route table."""
    right = page.right
    assert right is not None
    allowed = WORKED if page.methods == ("GET",) else WORKED | UNUSABLE
    if set(names(page)) & SHARED.keys():
        allowed = allowed | {403}  # a queue of every account asks for the right on every account
    if right is Right.SIGNED_IN:
        return allowed
    somewhere = any(right in RIGHTS[role] for _, role in grants)
    sees = holds(grants, Right.VIEW, HERE)
    if "account" in names(page):
        return allowed if holds(grants, right, HERE) else {403} if sees else {404}
    if not somewhere:
        return {403}
    if page.name in ON_EVERY_ACCOUNT:
        return allowed if holds(grants, right, EVERY_ACCOUNT) else {403}
    if not set(names(page)) & OF_ACCOUNT.keys() or holds(grants, right, HERE):
        return allowed
    looked_first = {400} if page.methods == ("POST",) and sees else set()
    return looked_first | ({403, 404} if sees else {404})


def test_the_route_table_is_well_formed() -> None:
    """Names are unique, every parameter has a sample, and strangers get nothing but what is listed."""
    unknown = {name for page in PAGES for name in names(page)} - SAMPLES.keys()
    lines = [(page.path, method) for page in PAGES for method in page.methods]

    assert unknown == set(), "add a sample to tests/support/review_world.py"
    assert len({page.name for page in PAGES}) == len(PAGES)
    assert len(set(lines)) == len(lines)
    assert {page.name for page in PAGES if page.right is None} <= PUBLIC_PAGES
    assert {page.methods for page in PAGES if not page.api} <= {("GET",), ("POST",)}
    assert {page.name for page in PAGES if not page.csrf} == {"csp_report", "oidc_logout"}
    assert all(page.path.startswith("/api/") and len(page.methods) == 1 for page in PAGES if page.api)
    assert set(WRITE_SCOPES) == set(Right)


@pytest.mark.parametrize("page", GUARDED, ids=lambda page: page.name)
def test_strangers_get_nothing(walked: tuple[World, TestClient], page: PageRoute) -> None:
    """Without a session every page asks to sign in, whether its thing exists or not."""
    world, client = walked

    assert ask(client, page, address(page, world, world.person()), "no session") == 401


@pytest.mark.parametrize("page", GUARDED, ids=lambda page: page.name)
def test_every_role_gets_what_its_rights_say(
    walked: tuple[World, TestClient], readers: dict[str, tuple[UUID, str]], page: PageRoute
) -> None:
    """Exactly: the right on the account of the thing that is asked for, not on any other."""
    world, client = walked
    wrong = {}
    for persona, grants in PERSONAS.items():
        person_id, token = readers[persona] if page.methods == ("GET",) else entered(world, grants)
        status = ask(client, page, address(page, world, person_id), token)
        if status not in expected(page, grants):
            wrong[persona] = (status, sorted(expected(page, grants)))

    assert wrong == {}


def test_what_belongs_to_somebody_else_is_not_there(walked: tuple[World, TestClient]) -> None:
    """Also for who has every role on every account: a job, an export and a view are their owner's."""
    world, client = walked
    other = world.person(*((EVERY_ACCOUNT, role.value) for role in Role))
    owned = [page for page in GUARDED if set(names(page)) & OWN.keys()]
    for page in owned:
        path = address(page, world, world.person((HERE, "lead")))
        status = ask(client, page, path, world.session(other))
        assert status in {400, 403, 404, 409}, page.name  # 400: the form was looked at first

    assert {name for page in owned for name in names(page)} >= OWN.keys()


@pytest.mark.parametrize(
    "page",
    [page for page in GUARDED if page.methods == ("POST",) and not page.api],
    ids=lambda page: page.name,
)
def test_every_form_needs_its_token_and_our_own_page(
    walked: tuple[World, TestClient], page: PageRoute
) -> None:
    """A form without the token, with another session's, or from another site changes nothing."""
    world, client = walked
    person_id = world.person(*((EVERY_ACCOUNT, role.value) for role in Role))
    path, token = address(page, world, person_id), world.session(person_id)

    assert ask(client, page, path, token, **{"Sec-Fetch-Site": "cross-site"}) == 403
    assert ask(client, page, path, token, Origin="https://evil.example") == 403
    for body in ({}, {"csrf": csrf_token("another session")}):
        client.cookies.set(SESSION_COOKIE, token, domain="127.0.0.1")
        refused = client.post(path, data=body, follow_redirects=False)
        assert refused.status_code == 403, body


@pytest.mark.parametrize("page", GUARDED, ids=lambda page: page.name)
def test_a_key_opens_the_json_face_only(walked: tuple[World, TestClient], page: PageRoute) -> None:
    """API tokens read what their owner may read there, and are nothing on the pages."""
    world, client = walked
    person_id = world.person(*((EVERY_ACCOUNT, role.value) for role in Role))
    key = world.token(person_id)
    client.cookies.clear()
    response = client.request(
        page.methods[0],
        address(page, world, person_id),
        headers={"Authorization": f"Bearer {key}"},
        follow_redirects=False,
        json=None if page.methods == ("GET",) else {},
    )
    if page.api:
        assert response.status_code in (WORKED if page.methods == ("GET",) else WORKED | UNUSABLE)
    else:
        assert response.status_code in {303, 401}
        assert response.headers.get("location", "/sign-in").startswith("/sign-in")


@pytest.mark.parametrize(
    "page", [page for page in GUARDED if page.api], ids=lambda page: f"{page.methods[0]} {page.path}"
)
def test_a_key_needs_the_scope_and_changes_need_a_key(
    walked: tuple[World, TestClient], page: PageRoute
) -> None:
    """With every other scope 403, whatever the owner may do; a session and its form token are not enough."""
    world, client = walked
    person_id = world.person(*((EVERY_ACCOUNT, role.value) for role in Role))
    path, token = address(page, world, person_id), world.session(person_id)
    key = world.token(person_id, *(each for each in TokenScope if each is not page.scope))
    client.cookies.clear()
    refused = client.request(page.methods[0], path, headers={"Authorization": f"Bearer {key}"})
    client.cookies.set(SESSION_COOKIE, token, domain="127.0.0.1")
    form = {} if page.methods != ("POST",) else {"data": {"csrf": csrf_token(token)}}
    by_session = client.request(page.methods[0], path, **form)  # type: ignore[arg-type]

    assert refused.status_code == 403
    assert f"scope {page.scope}" in refused.json()["detail"]
    assert by_session.status_code in (WORKED if page.methods == ("GET",) else {401})


def test_things_that_are_not_there_look_like_those_one_may_not_see(
    walked: tuple[World, TestClient],
) -> None:
    """No status tells which decisions another account has."""
    world, client = walked
    token = world.session(world.person((ELSEWHERE, "viewer")))
    page = next(page for page in PAGES if page.path == "/decisions/{decision_id}")
    unknown = page.path.format(decision_id="01a20038-0a4e-7283-be93-352da35370fd")

    assert ask(client, page, unknown, token) == 404
    assert ask(client, page, address(page, world, world.person()), token) == 404


LEAKS = tuple(
    PageRoute(path=f"/leak/{right}/{{decision_id}}", name=f"leak {right}", handler=_handed_out, right=right)
    for right in Right
    if right is not Right.SIGNED_IN
)
"""Pages that hand out a thing of an account to everybody who has the right on any account."""


@pytest.mark.parametrize("page", LEAKS, ids=lambda page: page.name)
def test_the_walk_notices_a_page_without_an_account_check(
    leaking: tuple[World, TestClient], page: PageRoute
) -> None:
    """A page that does not check its account answers people of other accounts: the walk expects a refusal."""
    world, client = leaking
    noticed = []
    for persona, grants in PERSONAS.items():
        person_id = world.person(*((account, role.value) for account, role in grants))
        status = ask(client, page, address(page, world, person_id), world.session(person_id))
        if status not in expected(page, grants):
            noticed.append((persona, status))

    assert ("viewer here, everything elsewhere", 200) in noticed or page.right is Right.VIEW
    assert {persona for persona, status in noticed if status == 200} >= {
        f"{role.value} elsewhere" for role in Role if page.right in RIGHTS[role]
    }
    assert any(status == 200 for _, status in noticed)
