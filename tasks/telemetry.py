"""Sentry, with every way that user text could get there closed by name."""

from __future__ import annotations

from typing import Any, Final

import sentry_sdk

NOTHING: Final = {"mode": "off"}
DATA_COLLECTION: Final[Any] = {
    "user_info": False,
    "cookies": NOTHING,
    "http_headers": {"request": NOTHING},
    "http_bodies": [],
    "url_query_params": NOTHING,
    "graphql": {"document": False, "variables": False},
    "gen_ai": {"inputs": False, "outputs": False},
    "database_query_data": False,
    "queues": False,
    "stack_frame_variables": False,
    "frame_context_lines": 0,
}
"""Every key that sentry-sdk 2.75 knows: what is left out turns itself on."""


def configure(dsn: str | None, release: str, **transport: Any) -> None:  # noqa: ANN401  # handed on to the SDK
    """Start Sentry when there is a DSN; errors carry types and frames, never messages, locals or texts."""
    if dsn is None:
        return
    sentry_sdk.init(
        dsn=dsn,
        release=release,
        data_collection=DATA_COLLECTION,
        default_integrations=False,
        auto_enabling_integrations=False,
        max_breadcrumbs=0,
        traces_sample_rate=None,
        before_send=without_messages,
        **transport,
    )


def report(error: BaseException) -> None:
    """Send one error; does nothing without a DSN."""
    sentry_sdk.capture_exception(error)


def without_messages(event: Any, _hint: Any) -> Any:  # noqa: ANN401  # the SDK's own loose types
    """Drop exception messages: they may quote what a user wrote."""
    for value in (event.get("exception") or {}).get("values", ()):
        value["value"] = ""
    event.pop("logentry", None)
    event.pop("message", None)
    event.pop("extra", None)
    event.pop("breadcrumbs", None)
    return event
