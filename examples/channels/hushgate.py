"""The requests to Hushgate's JSON API, see docs/http-api.md."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from typing import Any, Final
from urllib.parse import quote

from .client import OPENER
from .recipe import Change, Json

TIMEOUT_S: Final = 4
"""Channels wait three to five seconds for an answer to their requests."""
AS_ASKED: Final = 409
"""Of a release: the AI answers there already."""
UNKNOWN: Final = 404


class Away(Exception):
    """Hushgate does not answer, or not now; the same request may succeed later."""


class Refused(Exception):
    """Hushgate refuses a request; ``body`` says why."""

    def __init__(self, status: int, body: Json) -> None:
        super().__init__(f"status {status}: {body.get('detail') or body.get('title') or 'no reason'}")
        self.status, self.body = status, body


class Hushgate:
    """The review server, by the API token of a person."""

    def __init__(self, url: str, token: str) -> None:
        self.url, self.token = url.rstrip("/"), token

    def change_owner(self, account: str, conversation: str, change: Change) -> bool:
        """Give a conversation to people or to the AI; False: no event of it is stored."""
        try:
            self.call("POST", f"{conversation_path(account, conversation)}/{change}")
        except Refused as refused:
            if refused.status == UNKNOWN:
                return False
            if refused.status != AS_ASKED:
                raise Away(str(refused)) from refused  # such as a token that ended: correct it meanwhile
        return True

    def as_person(self, token: str) -> Hushgate:
        """The same server by the token of another person."""
        return Hushgate(self.url, token)

    def call(self, method: str, path: str, body: Json | None = None, *, timeout_s: float = TIMEOUT_S) -> Json:
        """An answer of ``/api/v1``.

        Raises:
            Away: no answer, 429 or 5xx.
            Refused: another status.
        """
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.url}/api/v1/{path}", data, headers, method=method)
        try:
            with OPENER.open(request, timeout=timeout_s) as answer:
                return _object(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                if error.code == 429 or error.code >= 500:
                    raise Away(f"status {error.code}") from error
                raise Refused(error.code, _object(error.read())) from error
        except (OSError, http.client.HTTPException) as error:
            raise Away(type(error).__name__) from error


def conversation_path(account: str, conversation: str) -> str:
    """The path of a conversation in ``/api/v1``."""
    return f"accounts/{quote(account, safe='')}/conversations/{quote(conversation, safe='')}"


def _object(body: bytes) -> Json:
    try:
        found: Any = json.loads(body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
