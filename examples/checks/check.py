"""Ask before sending: ``python check.py [--search] QUESTION DRAFT [PASSAGE ...]``, with the standard library.

Facts of the draft are checked against the passages, with --search against the account's documents; without
passages and --search only rules and moderation look at the draft.
HUSHGATE_GATEWAY is the gateway, HUSHGATE_TOKEN an API token with the scope check, ACCOUNT the account.
"""

from __future__ import annotations

import json
import os
import sys
import uuid
from typing import Any
from urllib.request import Request, urlopen


def check(
    message: str, draft: str | None = None, passages: list[str] | None = None, *, search: bool = False
) -> dict[str, Any]:
    """The verdict on a message, and on the draft that answers it; an error means that nothing may be sent."""
    body: dict[str, Any] = {"id": str(uuid.uuid4()), "user_id": os.environ["ACCOUNT"], "message": message}
    if search:
        body["search"] = True
    if draft is not None:
        body["draft"] = draft
    if passages is not None:
        body["passages"] = [{"text": text} for text in passages]
    request = Request(f"{os.environ['HUSHGATE_GATEWAY']}/v1/checks", data=json.dumps(body).encode())
    request.add_header("Authorization", f"Bearer {os.environ['HUSHGATE_TOKEN']}")
    request.add_header("Content-Type", "application/json")
    request.add_header("Hushgate-Deadline-Ms", "8000")
    with urlopen(request, timeout=20) as answer:
        verdict: dict[str, Any] = json.load(answer)
    return verdict


if __name__ == "__main__":
    searching = sys.argv[1] == "--search"
    question, answer, *given = sys.argv[2:] if searching else sys.argv[1:]
    found = check(question, answer, given or None, search=searching)
    sys.stdout.write(f"{found['verdict']} {found['text'] or found['reason_code']}\n")
