"""Ask before sending, with the standard library: ``check.py [--search] QUESTION [DRAFT [PASSAGE ...]]``.

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
from urllib.error import HTTPError
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
    try:
        with urlopen(request, timeout=20) as answer:
            verdict: dict[str, Any] = json.load(answer)
    except HTTPError as error:
        raise RuntimeError(f"{error.code}: {json.load(error)['detail']}") from None
    return verdict


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--search"]
    if not words:
        sys.exit(__doc__)
    answer = words[1] if len(words) > 1 else None
    found = check(words[0], answer, words[2:] or None, search="--search" in sys.argv)
    sys.stdout.write(f"{found['verdict']} {found['text'] or found['reason_code']}\n")
