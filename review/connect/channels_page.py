"""The page that connects a channel to an account: a token to publish, and the first message."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from starlette.responses import Response

from db.people.api_tokens import TokenScope
from db.rows import first_row
from review.accounts.stored_versions import account_of_path
from review.auth.api_tokens import make_token
from review.http.visit import Visit
from review.languages import gettext as _

DAYS: Final = 90
FIRST: Final = """
    SELECT id, created_at, reason_code FROM ai_decisions
    WHERE user_id = %s AND created_at >= %s ORDER BY created_at, id LIMIT 1
"""
LOOKS_FOR: Final = timedelta(hours=1)
"""How long the page looks for a message after it was opened."""


async def show_channels(visit: Visit) -> Response:
    """How to connect a channel, and the first message since ``since`` (seconds of Unix time)."""
    return await _page(visit, account_of_path(visit))


async def make_channel_token(visit: Visit) -> Response:
    """Make a token that may publish, and show it once with programs that use it."""
    account = account_of_path(visit)
    token = await make_token(
        visit,
        name=_("Channel of %(account)s") % {"account": account[:60]},
        days=DAYS,
        scopes=frozenset({TokenScope.PUBLISH}),
    )
    snippets = publishing(visit.site.settings.review_url, token, account, visit.now)
    return await _page(visit, account, token=token, snippets=snippets)


async def _page(
    visit: Visit, account: str, *, token: str = "", snippets: Mapping[str, str] | None = None
) -> Response:
    since = _since(visit)
    async with visit.store.reading() as connection:
        first = await first_row(connection, FIRST, (account, since))
    return visit.render(
        "connect/channels.html",
        account=account,
        tab="channels",
        token=token,
        snippets=snippets or {},
        days=DAYS,
        first=first,
        since=int(since.timestamp()),
        waits=first is None and visit.now - since < LOOKS_FOR,
        takes_events=visit.site.first_run.events is not None,
    )


def _since(visit: Visit) -> datetime:
    """When the person opened the page."""
    given = visit.request.query_params.get("since", "")
    if not (given.isascii() and given.isdigit() and len(given) <= 10):
        return visit.now
    at = datetime.fromtimestamp(int(given), visit.now.tzinfo)
    return max(at, visit.now - LOOKS_FOR)


def publishing(url: str, token: str, account: str, now: datetime) -> Mapping[str, str]:
    """By language; ``url`` is the address of the pages."""
    address, secret = f"{url.rstrip('/')}/api/v1/events", f"Bearer {token}"
    event = {
        "event_id": f"first-{int(now.timestamp())}",
        "user_id": account,
        "scope": "chat",
        "conversation_id": "first",
        "message_id": "first",
        "author_id": "me",
        "text": "When are you open?",
        "created_at": now.isoformat(timespec="seconds"),
    }
    body = json.dumps(event)
    headers = json.dumps({"Authorization": secret, "Content-Type": "application/json"})
    return {
        "curl": _curl(address, secret, body),
        "Python": _python(address, headers, body),
        "Node": _node(address, headers, body),
    }


def _curl(address: str, secret: str, body: str) -> str:
    words = ("-H", f"Authorization: {secret}", "-H", "Content-Type: application/json")
    return f"curl {shlex.quote(address)} {shlex.join(words)} \\\n  -d {shlex.quote(body)}"


def _python(address: str, headers: str, body: str) -> str:
    return (
        "import urllib.request\n\n"
        "request = urllib.request.Request(\n"
        f"    {json.dumps(address)},\n"
        f"    {body!r}.encode(),\n"
        f"    {headers},\n"
        ")\n"
        "print(urllib.request.urlopen(request).read().decode())"
    )


def _node(address: str, headers: str, body: str) -> str:
    return (
        f"const answer = await fetch({json.dumps(address)}, {{\n"
        '  method: "POST",\n'
        f"  headers: {headers},\n"
        f"  body: JSON.stringify({body}),\n"
        "});\n"
        "console.log(await answer.text());"
    )
