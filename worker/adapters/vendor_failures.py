"""What a vendor's error means: who must act, which part is wrong, and how long to wait.

The status says it where vendors agree; else the fields and words of the body do (``docs/vendors.md``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import aiohttp

from worker.adapters.api_errors import ApiConnectionError, ApiStatusError, ProxyUnusable
from worker.adapters.call_guard import NotCalled, Trouble
from worker.adapters.error_bodies import error_words
from worker.adapters.server_waits import asked_wait_s
from worker.adapters.vendor_words import (
    ACCOUNT_WORDS,
    ENDPOINT_WORDS,
    GUARDRAIL_WORDS,
    INPUT_CODES,
    INPUT_WORDS,
    KEY_WORDS,
    MODEL_BEGINNINGS,
    MODEL_CODES,
    MODEL_WORDS,
    OUTPUT_CODES,
    OUTPUT_WORDS,
    QUOTA_CODES,
    QUOTA_WORDS,
    RATE_WORDS,
    THROTTLED_WORDS,
    TOO_LONG_WORDS,
    UNLOADED_WORDS,
)
from worker.errors import EndpointMisconfigured, ModerationRejected, ModerationUnavailable
from worker.model import AttemptOutcome

MALFORMED: Final = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What reading an answer of another shape raises."""
NAME_CHARS: Final = 200
"""Longest name of a model, reason, call or category that is read: the audit keeps it for ever."""
GUARDRAIL: Final = 446
"""The status of gateways for a text that their guardrail blocked."""
REJECTING: Final = frozenset({400, 413, 414, 422, 431, GUARDRAIL, 451})
"""The server refuses this one input."""
TOO_LARGE: Final = 413
NOT_IMPLEMENTED: Final = 501
USED_UP: Final = frozenset({402, 412})
QUOTA: Final = USED_UP | {429}
"""Statuses of a deployment whose quota is used up; 429 alone is a rate limit."""
PASSING: Final = frozenset({408, 409, 420, 423, 424, 425, 429, 430, 498, 499})
"""Statuses after which the same call may succeed later; so may any other status from 500."""
KEY: Final = frozenset({401, 403, 407})
FORBIDDEN: Final = 403
REMEDIES: Final = {
    "moderation": "name a server with a moderation API (HUSHGATE_MODERATION_URL, HUSHGATE_MODERATION_KEY), or"
    " set HUSHGATE_MODERATION=off, or choose classifiers in the account's moderators",
    "classifier": "correct HUSHGATE_CLASSIFIERS, or choose other moderators for the account",
    "model": "correct HUSHGATE_MODEL_URL, HUSHGATE_MODEL or the key",
    "judge": "correct HUSHGATE_JUDGE_URL, HUSHGATE_JUDGE or the key",
    "embedding": "correct HUSHGATE_EMBEDDINGS_URL or the key, or set HUSHGATE_EMBEDDINGS=off",
}
KEYS: Final = {
    "moderation": "HUSHGATE_MODERATION_KEY (else HUSHGATE_MODEL_KEY)",
    "classifier": "HUSHGATE_CLASSIFIER_KEYS",
    "model": "HUSHGATE_MODEL_KEY",
    "judge": "HUSHGATE_JUDGE_KEY (else HUSHGATE_MODEL_KEY)",
    "embedding": "HUSHGATE_EMBEDDINGS_KEY (else HUSHGATE_MODEL_KEY)",
}
UNSTORABLE: Final = re.compile(r"[\x00\ud800-\udfff]")


class NotTheApi(ValueError):
    """A whole answer with status 200 that no OpenAI-compatible server gives: the address is wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VendorFailure:
    """A vendor error, translated.

    Attributes:
        kind: ``REJECTED`` is one input's fault; ``MISCONFIGURED`` lasts until the deployment is corrected.
        status: HTTP status, or None when there was no answer.
        retry_after_s: as the server asked, in seconds, or None.
        message: for the audit, at most 300 characters.
        cause: of ``MISCONFIGURED``: ``key``, ``quota``, ``model``, ``address`` or ``proxy``; else empty.
        is_too_long: the input is refused for its length.
        is_doubtful: a 403 that does not name the account: a firewall may refuse one author's text so.
    """

    kind: AttemptOutcome
    status: int | None
    retry_after_s: float | None
    message: str
    cause: str = ""
    is_too_long: bool = False
    is_doubtful: bool = False

    @property
    def may_succeed_later(self) -> bool:
        """True when the same call may succeed later."""
        return self.kind not in {AttemptOutcome.REJECTED, AttemptOutcome.MISCONFIGURED}


def remedy(upstream: str, cause: str) -> str:
    """What corrects an upstream, such as ``moderation`` or ``model other``, that refuses this deployment."""
    kind = upstream.partition(" ")[0]
    if cause == "key":
        return f"set {KEYS[kind]} to a key that the endpoint accepts"
    return "check plan and balance at the provider" if cause == "quota" else REMEDIES[kind]


def storable(text: str) -> str:
    """A vendor's text without NUL and lone surrogates, which Postgres cannot store."""
    return text if text.isascii() and text.isprintable() else UNSTORABLE.sub("", text)


_storable_name = lru_cache(maxsize=1024)(storable)


def name_of(value: object) -> str:
    """A name in an answer, storable and shortened."""
    return _storable_name(str(value)[:NAME_CHARS])


def misconfigured(known: VendorFailure) -> EndpointMisconfigured:
    """The error of a failure whose kind is ``MISCONFIGURED``."""
    return EndpointMisconfigured(known.message, cause=known.cause, status=known.status or 0)


def trouble_of(error: Exception) -> Trouble | None:
    """What an error says about its upstream; None for a bug."""
    known = failure(error)
    return Trouble(known.kind, known.status, known.cause) if known else None


def failure(error: Exception) -> VendorFailure | None:
    """The translation of a vendor error, or None for a bug."""
    message = storable(f"{type(error).__name__}: {error}"[:300])
    match error:
        case NotCalled():
            return VendorFailure(
                kind=error.kind, status=None, retry_after_s=error.retry_after_s, message=message
            )
        case ApiStatusError():
            return _status_failure(error, message)
        case TimeoutError():
            kind = AttemptOutcome.TIMEOUT
            message = message if str(error) else f"{message}no answer in time"
        case ProxyUnusable():
            kind = AttemptOutcome.MISCONFIGURED
        case ApiConnectionError():
            looped = isinstance(error.__cause__, aiohttp.TooManyRedirects)
            kind = AttemptOutcome.MISCONFIGURED if looped else AttemptOutcome.CONNECTION
        case NotTheApi():
            kind = AttemptOutcome.MISCONFIGURED
        case ValueError():
            kind = AttemptOutcome.MALFORMED
        case _:
            return None
    wrong = "proxy" if isinstance(error, ProxyUnusable) else "address"
    cause = wrong if kind is AttemptOutcome.MISCONFIGURED else ""
    return VendorFailure(kind=kind, status=None, retry_after_s=None, message=message, cause=cause)


def call_failure(error: Exception) -> VendorFailure:
    """As ``failure``; an answer of another shape is ``MALFORMED``."""
    message = storable(f"{type(error).__name__}: {error}"[:300])
    malformed = VendorFailure(kind=AttemptOutcome.MALFORMED, status=None, retry_after_s=None, message=message)
    return failure(error) or malformed


def moderation_error(
    known: VendorFailure,
) -> ModerationUnavailable | ModerationRejected | EndpointMisconfigured:
    """The error of a failed call of a moderator."""
    match known.kind:
        case AttemptOutcome.MISCONFIGURED:
            return misconfigured(known)
        case AttemptOutcome.REJECTED:
            return ModerationRejected(known.message, is_too_long=known.is_too_long)
    return ModerationUnavailable(known.message, kind=known.kind, retry_after_s=known.retry_after_s)


def asked_wait_of(error: ApiStatusError) -> float | None:
    """Seconds that a refusal asks to wait, in its headers or its body."""
    return asked_wait_s(error.headers, error.body, resets=error.status in {403, 429})


def status_of_words(words: str) -> int:
    """The status that the words of an error stand for, where the server answered with a success."""
    for status, pattern in (
        (405, ENDPOINT_WORDS),
        (402, QUOTA_WORDS),
        (401, KEY_WORDS),
        (429, RATE_WORDS),
        (400, TOO_LONG_WORDS),
        (404, MODEL_WORDS),
        (403, INPUT_WORDS),
    ):
        if pattern.search(words):
            return status
    return 400 if "invalid_request" in words else 502


def _status_failure(error: ApiStatusError, message: str) -> VendorFailure:
    status, words = error.status, error_words(error)
    codes = set(words.lower().splitlines())
    is_long = status == TOO_LARGE or (
        status in REJECTING | {429, 500}
        and TOO_LONG_WORDS.search(words) is not None
        and not THROTTLED_WORDS.search(words)
    )
    kind, cause = _meaning(error, status, codes, words, is_long=is_long)
    return VendorFailure(
        kind=kind,
        status=status,
        retry_after_s=None if cause else asked_wait_of(error),
        message=message,
        cause=cause,
        is_too_long=is_long and kind is AttemptOutcome.REJECTED,
        is_doubtful=status == FORBIDDEN and cause == "key" and not ACCOUNT_WORDS.search(words),
    )


def _meaning(
    error: ApiStatusError, status: int, codes: set[str], words: str, *, is_long: bool
) -> tuple[AttemptOutcome, str]:
    """The kind of a failure, and the wrong part of the deployment where that is its cause."""
    if _is_refused_input(status, codes, words, error.body):
        return AttemptOutcome.REJECTED, ""
    is_limit = status in USED_UP and RATE_WORDS.search(words) and asked_wait_of(error) is not None
    is_limit = is_limit or THROTTLED_WORDS.search(words) is not None
    if not is_limit and (cause := _cause(error, status, codes, words)):
        return AttemptOutcome.MISCONFIGURED, cause
    if is_long and not (status == 429 and asked_wait_of(error) is not None):
        return AttemptOutcome.REJECTED, ""
    if codes & OUTPUT_CODES or (status in REJECTING and OUTPUT_WORDS.search(words)):
        return AttemptOutcome.UNFINISHED, ""
    if is_limit or status == 429 or (status == 403 and RATE_WORDS.search(words)):
        return AttemptOutcome.RATE_LIMITED, ""
    is_rejected = status in REJECTING and not UNLOADED_WORDS.search(words)
    return (AttemptOutcome.REJECTED if is_rejected else AttemptOutcome.SERVER_ERROR), ""


def _is_refused_input(status: int, codes: set[str], words: str, body: object) -> bool:
    """Whether the vendor refuses what one author wrote; a suspended account is no refused input."""
    if status == GUARDRAIL or (status == 500 and GUARDRAIL_WORDS.search(words)):
        return True
    if status not in REJECTING | {403, 424}:
        return False
    metadata = body.get("metadata") if isinstance(body, Mapping) else None
    if isinstance(metadata, Mapping) and metadata.keys() & {"reasons", "flagged_input"}:
        return True
    if codes & INPUT_CODES:
        return True
    return INPUT_WORDS.search(words) is not None and not ACCOUNT_WORDS.search(words)


def _cause(error: ApiStatusError, status: int, codes: set[str], words: str) -> str:
    """The wrong part of the deployment; empty for an outage or one refused input."""
    if status in USED_UP or codes & QUOTA_CODES or (status <= 500 and QUOTA_WORDS.search(words)):
        return "quota"
    if status == 403 and RATE_WORDS.search(words):
        return ""
    if (status < 500 and codes & MODEL_CODES) or (status == FORBIDDEN and MODEL_BEGINNINGS.search(words)):
        return "model"
    if status in KEY or (status in {400, 404} and KEY_WORDS.search(words)):
        return "key"
    known_words = {400: MODEL_BEGINNINGS, 404: MODEL_WORDS, 410: MODEL_WORDS}.get(status)
    is_named = known_words is not None and known_words.search(words)
    if is_named or (status < 500 and error.param == "model"):
        return "model"
    is_passing = status in REJECTING | PASSING or (status >= 500 and status != NOT_IMPLEMENTED)
    return "" if is_passing else "address"
