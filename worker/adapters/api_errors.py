"""Errors of calls to OpenAI-compatible servers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class ApiError(Exception):
    """A call gave no answer of success."""


class ApiConnectionError(ApiError):
    """There was no whole answer; the cause is aiohttp's error."""


class ProxyUnusable(ApiConnectionError):
    """The environment names a proxy that cannot be used; the message names the variable."""


class ApiStatusError(ApiError):
    """The server refused the call.

    Attributes:
        status: of HTTP.
        message: the status and the server's own words.
        headers: of the answer.
        body: the error object or text in the answer; None for none.
        code, param, type: fields of the error object; None where it has none.
    """

    def __init__(self, message: str, *, status: int, headers: Mapping[str, str], body: Any) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = headers
        self.body = body
        fields = body if isinstance(body, Mapping) else {}
        self.code, self.param, self.type = (fields.get(name) for name in ("code", "param", "type"))
