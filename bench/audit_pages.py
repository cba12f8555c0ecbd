"""Addresses of every page that can be opened, by what its path names: a new page needs no line here.

A new parameter of a path needs a line in ``SAMPLES``; a test compares them with the route table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final
from urllib.parse import quote
from uuid import UUID

import psycopg
from psycopg.rows import dict_row

from db.people.records import EVERY_ACCOUNT
from review.http.identifiers import path_segment
from review.http.page_routes import PageRoute
from review.routes import PAGES

IN: Final = "user_id = ANY(%(accounts)s)"
ACCOUNT: Final = f"SELECT DISTINCT user_id AS account FROM ai_rules WHERE {IN} LIMIT %(most)s"
RECENT: Final = f"""
    SELECT user_id AS account, id AS decision_id, author_id AS author_ref,
        conversation_id AS conversation_ref, conversation_id AS conversation
    FROM ai_decisions WHERE {IN} AND created_at > now() - interval '1 day'
    ORDER BY created_at DESC LIMIT %(most)s
"""
BUSY: Final = f"SELECT decision_id FROM decision_comments WHERE {IN} ORDER BY id LIMIT %(most)s"
SAMPLES: Final[Mapping[frozenset[str], str]] = {
    frozenset[str](): "SELECT 1 FROM generate_series(1, %(most)s)",
    frozenset({"account"}): ACCOUNT,
    frozenset({"account", "author_ref"}): RECENT,
    frozenset({"account", "conversation_ref"}): RECENT,
    frozenset({"account", "conversation"}): RECENT,
    frozenset({"decision_id"}): BUSY,
    frozenset({"decision_id", "names"}): f"SELECT *, 'collaboration,neighbours,leads' AS names FROM ({BUSY})",
    frozenset({"account", "document"}): f"""
        SELECT user_id AS account, id AS document FROM documents WHERE {IN} LIMIT %(most)s""",
    frozenset({"account", "version"}): f"SELECT account, 2 AS version FROM ({ACCOUNT})",
    frozenset({"account", "delivery"}): f"""
        SELECT user_id AS account, id AS delivery FROM webhook_deliveries
        WHERE {IN} ORDER BY id DESC LIMIT %(most)s""",
    frozenset({"account", "endpoint_id"}): f"""
        SELECT user_id AS account, id AS endpoint_id FROM webhook_endpoints
        WHERE {IN} ORDER BY user_id LIMIT %(most)s""",
    frozenset({"account", "erasure_id"}): f"""
        SELECT user_id AS account, id AS erasure_id FROM erasures
        WHERE phase = 'finished' AND {IN} LIMIT %(most)s""",
    frozenset({"account", "candidate_id"}): f"""
        SELECT user_id AS account, id AS candidate_id FROM candidates
        WHERE withdrawn_at IS NULL AND {IN} ORDER BY id LIMIT %(most)s""",
    frozenset({"account", "trial_id"}): f"""
        SELECT user_id AS account, id AS trial_id FROM trials WHERE {IN} ORDER BY id LIMIT %(most)s""",
    frozenset({"account", "set_id"}): f"""
        SELECT user_id AS account, id AS set_id FROM golden_sets WHERE {IN} ORDER BY id LIMIT %(most)s""",
    frozenset(
        {"appeal_id"}
    ): f"SELECT id AS appeal_id FROM appeals WHERE {IN} ORDER BY created_at DESC LIMIT %(most)s",
    frozenset({"queue_id"}): "SELECT id AS queue_id FROM queues WHERE closed_at IS NULL LIMIT %(most)s",
    frozenset({"person_id"}): f"""
        SELECT person_id FROM person_roles WHERE {IN} AND granted_by = 'bench' LIMIT %(most)s""",
    frozenset({"job_id"}): "SELECT id AS job_id FROM jobs WHERE person_id = %(person)s LIMIT %(most)s",
    frozenset({"figure"}): "SELECT 'decisions' AS figure FROM generate_series(1, %(most)s)",
}
"""What stands for the parameters of a path, as rows of the filled database."""
QUERIES: Final[Mapping[str, tuple[str, ...]]] = {
    "decisions": ("", "?since=all", "?since=all&review=overturn"),
    "dashboard": ("", "?range=30d"),
    "agreement": ("", "?range=30d"),
    "appeals": ("", "?state=decided"),
    "access_log": ("", "?account=account-1"),
    "compare": ("?from=1&to=2",),
    "decision_search": ("?text=account-1", "?text=author-7", "?text=w1"),
    "bulk": ("?account=account-40&since=all", "?reason=FLAGGED_RULE"),
    "statements": ("?since={month}&until={today}",),
    "limits": ("",),
    "figure_svg": ("",),
}
"""Queries of a page, by name of its route; each is measured on its own."""
PARTS: Final = frozenset({"decision_search", "decision_panels", "decisions_count"})
"""Routes that answer with a part of a page, as htmx asks."""
NOT_MEASURED: Final[Mapping[str, str]] = {
    "health": "no page",
    "oidc_back": "leads elsewhere",
    "invitation": "needs the plain token of an invitation",
    "appeal_link": "needs a signed link; its two look-ups are those of the form of an appeal",
    "sign_in_link": "reads nothing",
    "sign_in": "leads a signed-in person elsewhere",
    "document_picture": "a picture made by another process",
    "job_file": "a download, of any size",
    "statements_file": "a download, of any size",
}
"""Routes without server time of a page, by name, and why."""


def measured_pages() -> tuple[PageRoute, ...]:
    """Every route that is read, but those of ``NOT_MEASURED``."""
    return tuple(page for page in PAGES if "GET" in page.methods and page.name not in NOT_MEASURED)


def parameters(page: PageRoute) -> frozenset[str]:
    """Names in braces of a path."""
    return frozenset(part.split("}")[0].split(":")[0] for part in page.path.split("{")[1:])


def addresses(
    connection: psycopg.Connection, page: PageRoute, person_id: UUID, accounts: Sequence[str], most: int
) -> Iterator[tuple[str, Sequence[str]]]:
    """What each query of a page is called, and its addresses."""
    known = [f"account-{each}" for each in range(60)] if EVERY_ACCOUNT in accounts else list(accounts)
    cursor = connection.cursor(row_factory=dict_row)
    sample = SAMPLES[parameters(page)]
    rows = cursor.execute(sample.encode(), {"most": most, "person": person_id, "accounts": known}).fetchall()
    today = connection.execute("SELECT current_date - 30 AS month, current_date AS today").fetchone()
    assert today is not None
    month_and_day = {"{month}": str(today[0]), "{today}": str(today[1])}
    for query in QUERIES.get(page.name, ("",)):
        asked = query
        for placeholder, value in month_and_day.items():
            asked = asked.replace(placeholder, value)
        yield f"{page.path}{query}", [_address(page, row) + asked for row in rows]


def _address(page: PageRoute, row: Mapping[str, object]) -> str:
    path = page.path
    for part in page.path.split("{")[1:]:
        placeholder = part.split("}")[0]
        name, value = placeholder.split(":")[0], str(row[placeholder.split(":")[0]])
        segment = path_segment(value) if name.endswith("_ref") else quote(value, safe="")
        path = path.replace("{" + placeholder + "}", segment)
    return path
