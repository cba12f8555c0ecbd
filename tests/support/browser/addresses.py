"""Every page that can be opened, as addresses of the seeded world."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

from psycopg.types.json import Jsonb
from uuid_utils.compat import uuid7

from compliance.appeals.links import signed_token
from db.people.sessions import token_hash
from review.http.identifiers import path_segment
from review.http.page_routes import PageRoute
from review.routes import PAGES
from tests.support.browser.desk import Desk, export
from tests.support.browser.world import CHANNEL, SHOP
from tests.support.pdf_files import Picture, lines, pdf
from tests.support.review_world import APPEAL_SECRET, BACKTEST_COUNTS, GOLDEN_ARM, ROLLOUT_FIGURES
from tests.support.samples import event
from trials.pure.evaluation.items import GoldenContent, content_json

SAMPLES: Final[dict[str, Callable[[Desk, str], object]]] = {
    "appeal_id": lambda desk, _: appeal(desk),
    "link": lambda desk, _: appeal_link(desk),
    "account": lambda _desk, _who: SHOP,
    "candidate_id": lambda desk, _: shop_candidate(desk),  # defined below
    "trial_id": lambda desk, _: shop_rollout(desk),  # defined below
    "set_id": lambda desk, _: shop_golden_set(desk),  # defined below
    "author_ref": lambda desk, _: path_segment(str(_of_decision(desk, "author_id"))),
    "conversation_ref": lambda desk, _: path_segment(str(_of_decision(desk, "conversation_id"))),
    "decision_id": lambda desk, _: desk.world.endings["MODERATION_FLAGGED"],
    "figure": lambda _desk, _who: "decisions",
    "delivery": lambda desk, _: _first(
        desk, "SELECT id FROM webhook_deliveries WHERE endpoint_id = %s", _endpoint(desk)
    ),
    "endpoint_id": lambda desk, _: _endpoint(desk),
    "document": lambda desk, _: _document(desk),  # defined below
    "page": lambda _desk, _who: 1,
    "erasure_id": lambda desk, _: _erasure(desk),
    "job_id": lambda desk, who: _exported(desk, who),  # noqa: PLW0108  # defined below
    "names": lambda _desk, _who: "collaboration,neighbours",
    "person_id": lambda desk, _: desk.world.people["viewer"].person_id,
    "queue_id": lambda desk, _: _first(desk, "SELECT id FROM queues WHERE closed_at IS NULL"),
    "token": lambda desk, _: _invited(desk),
    "version": lambda _desk, _who: 1,
}
"""What stands for a parameter of a path when somebody opens it; a new parameter needs a line here."""
QUERIES: Final[dict[str, str]] = {
    "statements": "?since=2026-11-01&until=2026-11-30",
    "compare": "?from=1&to=2",
    "bulk": f"?account={CHANNEL}",
    "go": "?q=shop",
}
"""What a page needs to show something, by name of its route."""
OPENED: Final = tuple(
    page
    for page in PAGES
    if "GET" in page.methods and not page.api and not page.name.startswith("oidc")  # those lead elsewhere
)


WITH_PDF: Final = """
    WITH document AS (
        INSERT INTO documents (user_id, title, source, content_hash, format, pages, notes)
        VALUES (%(user_id)s, 'Returns', 'returns.pdf', 'of a PDF', 'pdf', 2, %(notes)s) RETURNING id, user_id
    ), file AS (
        INSERT INTO document_files (document_id, user_id, data) SELECT id, user_id, %(data)s FROM document
    )
    INSERT INTO chunks (document_id, number, user_id, title, text, page)
    SELECT id, 1, user_id, 'Returns', 'Goods may be returned within thirty days.', 1 FROM document
"""
WITH_DELIVERY: Final = """
    WITH endpoint AS (
        INSERT INTO webhook_endpoints (
            id, user_id, url, types, secret, secret_hint, created_by, state, disabled_reason)
        VALUES (%(id)s, %(user_id)s, 'https://example.com/hooks', '{reply.created}', 'whsec_none', 'whsec_…',
            'everything', 'disabled', 'person')
        RETURNING id, user_id
    ), event AS (
        INSERT INTO outgoing_events (
            user_id, conversation_id, type, key, body, created_at, streamed_at, fanned_out_at)
        VALUES (%(user_id)s, 'c1', 'reply.created', %(id)s::text, '{"text": "From nine to six."}',
            now(), now(), now())
        RETURNING id
    )
    INSERT INTO webhook_deliveries (
        endpoint_id, event_row, user_id, conversation_id, state, error, status, answer, created_at, ended_at)
    SELECT endpoint.id, event.id, endpoint.user_id, 'c1', 'failed', 'status', 500, 'no', now(), now()
    FROM endpoint, event
"""


WITH_ERASURE: Final = """
    INSERT INTO erasures (id, user_id, kind, salt, subject_hash, reason, requested_by, phase, erased, receipt,
        confirmed_at, confirmed_by, started_at, finished_at)
    VALUES (%(id)s, %(user_id)s, 'author', 'salt', 'hash', 'a letter', 'everything', 'finished',
        '{"ai_decisions": 3, "messages": 2}', '{"erased": {"ai_decisions": 3}}', now(), 'everything', now(),
        now())
"""


WITH_APPEAL: Final = """
    INSERT INTO appeals (id, decision_id, decision_at, user_id, event_id, conversation_id, message_id,
        author_id, scope, source, text, entered_by, created_at, due_at)
    SELECT %(id)s, id, created_at, user_id, event_id, conversation_id, message_id, author_id, scope, 'page',
        'I meant it kindly. Please look again.', 'kim', now(), now() + interval '2 days'
    FROM ai_decisions WHERE id = %(decision)s
"""
WITH_CANDIDATE: Final = """
    INSERT INTO candidates (id, user_id, base_version, changes, note, source, created_by)
    SELECT %(id)s, %(user_id)s, max(version), '{"flagged_keywords": ["casino", "lottery"]}',
        'Casino advertisements were answered.', 'person', 'ada'
    FROM ai_rules WHERE user_id = %(user_id)s
"""
WITH_ROLLOUT: Final = """
    WITH made AS (
        INSERT INTO trials (id, user_id, kind, candidate_id, base_version, changes, share, state, plan)
        VALUES (%(id)s, %(user_id)s, 'rollout', %(candidate)s, 1, '{"flagged_keywords": ["casino"]}', 0.1,
            'returned', '{"bounds": ["blocks<=+0.05", "latency<=x1.5"], "least": 50, "metric": "blocks",
            "planned": 2000}')
        RETURNING id
    )
    INSERT INTO trial_steps (trial_id, kind, share, made_by, automatic, reason, figures, made_at)
    SELECT id, 'start', 0.1, 'ada', false, 'No customer should be answered on casino advertisements.',
        NULL::jsonb, now() - interval '2 hours' FROM made
    UNION ALL
    SELECT id, 'return', 0, 'guardrail', true,
        'blocks<=+0.05: expected at most 0.15, got 0.3 in 200 decisions; the live settings have 0.1',
        %(figures)s, now() FROM made
"""
WITH_GOLDEN_SET: Final = """
    WITH made AS (
        INSERT INTO golden_sets (id, user_id, name, purpose, created_by)
        VALUES (%(id)s, %(user_id)s, 'Threats ' || %(id)s, 'No threat is answered.', 'ada')
        RETURNING id, user_id
    ), run AS (
        INSERT INTO trials (id, set_id, plan, user_id, arms, kind, state, base_version, changes)
        SELECT %(id)s, id, '{"set_version": 1}', user_id, %(arms)s, 'evaluation', 'finished', 1, '{}'
        FROM made
    )
    INSERT INTO golden_set_items (id, set_id, user_id, row_id, source, decision_id, conversation_id,
        author_id, expected, expected_reason, labelled_by, content, recorded_at)
    SELECT %(id)s, made.id, made.user_id, d.id, 'decision', d.id, d.conversation_id, d.author_id, 'silent',
        d.reason_code, 'ada, ben', %(content)s, d.created_at
    FROM made JOIN ai_decisions d USING (user_id) ORDER BY d.id LIMIT 1
"""
WITH_BACKTEST: Final = """
    INSERT INTO trials (id, user_id, kind, state, base_version, changes, since, until, plan, done, counts,
        examples)
    SELECT %(id)s, %(user_id)s, 'backtest', 'finished', 1, '{"flagged_keywords": ["oak", "hello", "order"]}',
        now() - interval '7 days', now(), '{"total": 12}', 12, %(counts)s,
        jsonb_agg(jsonb_build_object('decision_id', d.id, 'group', 'newly_stopped', 'before', 'REPLIED',
            'after', 'FLAGGED_RULE'))
    FROM (SELECT id FROM ai_decisions WHERE user_id = %(user_id)s AND reason_code = 'REPLIED'
          AND message_text ~* '^hi|oak|order' ORDER BY id LIMIT 3) AS d
"""
WITH_APPEALS: Final = """
    INSERT INTO ai_rules SELECT (jsonb_populate_record(r, jsonb_build_object(
        'version', r.version + 1, 'appeals_enabled', true))).*
    FROM ai_rules r WHERE user_id = %(user_id)s ORDER BY version DESC LIMIT 1
"""


def parameters(page: PageRoute) -> tuple[str, ...]:
    """Names in braces of a path."""
    return tuple(part.split("}")[0].split(":")[0] for part in page.path.split("{")[1:])


def appeal(desk: Desk) -> object:
    """An open appeal against a decision of the shop."""
    decision_id = desk.world.endings["FLAGGED_RULE"]
    if desk.world.running.row("SELECT id FROM appeals WHERE decision_id = %s", decision_id) is None:
        desk.world.running.database.execute(WITH_APPEAL, {"id": uuid7(), "decision": decision_id})
    return _first(desk, "SELECT id FROM appeals WHERE decision_id = %s", decision_id)


def shop_candidate(desk: Desk) -> object:
    """A candidate of the shop, made from the settings in force."""
    candidate_id = uuid7()
    desk.world.running.database.execute(WITH_CANDIDATE, {"id": candidate_id, "user_id": SHOP})
    return candidate_id


def shop_rollout(desk: Desk) -> object:
    """A rollout of the shop that the guardrail returned."""
    candidate_id, rollout_id = shop_candidate(desk), uuid7()
    values = {"id": rollout_id, "candidate": candidate_id, "user_id": SHOP, "figures": Jsonb(ROLLOUT_FIGURES)}
    desk.world.running.database.execute(WITH_ROLLOUT, values)
    return rollout_id


def shop_golden_set(desk: Desk) -> object:
    """A golden set of the shop with one decision and one result."""
    set_id, asked = uuid7(), event(user_id=SHOP)
    values = {"id": set_id, "user_id": SHOP, "arms": Jsonb([GOLDEN_ARM])}
    values |= {"content": Jsonb(content_json(GoldenContent(event=asked)))}
    desk.world.running.database.execute(WITH_GOLDEN_SET, values)
    return set_id


def shop_backtest(desk: Desk) -> object:
    """A backtest of the shop with three examples."""
    backtest_id = uuid7()
    values = {"id": backtest_id, "user_id": SHOP, "counts": Jsonb(BACKTEST_COUNTS)}
    desk.world.running.database.execute(WITH_BACKTEST, values)
    return backtest_id


def appeal_link(desk: Desk) -> str:
    """The token of a link to appeal against a decision of the shop."""
    until = datetime.now(UTC) + timedelta(days=1)
    return signed_token(APPEAL_SECRET, UUID(desk.world.endings["MODERATION_FLAGGED"]), until)


def take_appeals(desk: Desk) -> None:
    """Settings with appeals for the account of the linked decision."""
    decision_id = desk.world.endings["MODERATION_FLAGGED"]
    user_id = _first(desk, "SELECT user_id FROM ai_decisions WHERE id = %s", decision_id)
    desk.world.running.database.execute(WITH_APPEALS, {"user_id": user_id})


def _first(desk: Desk, query: str, *values: object) -> object:
    row = desk.world.running.row(query, *values)
    assert row is not None, query
    return next(iter(row.values()))


def _of_decision(desk: Desk, column: str) -> object:
    """A column of the shop's newest decision."""
    query = f"SELECT {column} FROM ai_decisions WHERE user_id = %s ORDER BY created_at DESC LIMIT 1"
    return _first(desk, query, SHOP)


def _document(desk: Desk) -> object:
    """A PDF of the shop, of whose two pages the second is a scan."""
    query = "SELECT id FROM documents WHERE user_id = %s AND format = 'pdf'"
    if desk.world.running.row(query, SHOP) is None:
        note = {"code": "no_text", "count": 1, "of": 2, "pages": [2], "examples": []}
        data = pdf(lines("Goods may be returned within thirty days."), [Picture()])
        values = {"user_id": SHOP, "notes": Jsonb([note]), "data": data}
        desk.world.running.database.execute(WITH_PDF, values)
    return _first(desk, query, SHOP)


def _erasure(desk: Desk) -> object:
    """A finished erasure of the shop, with its receipt."""
    if desk.world.running.row("SELECT id FROM erasures WHERE user_id = %s", SHOP) is None:
        desk.world.running.database.execute(WITH_ERASURE, {"id": uuid7(), "user_id": SHOP})
    return _first(desk, "SELECT id FROM erasures WHERE user_id = %s", SHOP)


def _endpoint(desk: Desk) -> object:
    """A disabled webhook endpoint of the shop with one delivery."""
    found = desk.world.running.row("SELECT id FROM webhook_endpoints WHERE user_id = %s", SHOP)
    if found is None:
        desk.world.running.database.execute(WITH_DELIVERY, {"id": uuid7(), "user_id": SHOP})
    return _first(desk, "SELECT id FROM webhook_endpoints WHERE user_id = %s", SHOP)


def _invited(desk: Desk) -> str:
    """The token of an open invitation, made by an administrator."""
    token, inviter, now = secrets.token_hex(16), desk.world.people["everything"].person_id, datetime.now(UTC)
    desk.world.running.database.execute(
        "INSERT INTO invitations (id, token_hash, login, user_id, role, invited_by, created_at, expires_at)"
        " VALUES (%s, %s, 'new@example.org', %s, 'viewer', %s, %s, %s)",
        (uuid7(), token_hash(token), SHOP, inviter, now, now + timedelta(days=1)),
    )
    return token


def _exported(desk: Desk, who: str) -> object:
    """An export of this person's that is done."""
    query = "SELECT id FROM jobs WHERE person_id = %s AND state = 'done'"
    person_id = desk.world.people[who].person_id
    if desk.world.running.row(query, person_id) is None:
        export(desk.sit(who), f"/decisions?account={SHOP}")
    return _first(desk, query, person_id)


def address(desk: Desk, page: PageRoute, who: str) -> str:
    """A path of this route that leads somebody somewhere."""
    path = page.path
    for part in path.split("{")[1:]:
        placeholder = part.split("}")[0]
        sample = SAMPLES[placeholder.split(":")[0]](desk, who)
        path = path.replace("{" + placeholder + "}", str(sample))
    return path + QUERIES.get(page.name, "")
