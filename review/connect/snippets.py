"""Programs of a few lines that publish one message by HTTP, ready to copy."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from datetime import datetime


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
