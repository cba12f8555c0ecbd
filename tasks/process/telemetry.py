"""Sentry, configured so that no user text is sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from worker import extras

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
"""Every key that sentry-sdk 2.75 knows: a missing key means that the data is sent."""

SENT: Final = (
    "event_id",
    "timestamp",
    "level",
    "platform",
    "release",
    "environment",
    "server_name",
    "sdk",
    "exception",
)
"""The allowed keys of an event; all others are dropped, also those that a later SDK adds."""

SENT_OF_EXCEPTION: Final = ("type", "module", "mechanism", "stacktrace")
SENT_OF_MECHANISM: Final = ("type", "handled", "exception_id", "parent_id", "source", "is_exception_group")
SENT_OF_FRAME: Final = ("filename", "abs_path", "function", "module", "lineno", "in_app")


_sdk: Any = None
"""The module ``sentry_sdk``: imported only with a DSN."""


def configure(dsn: str | None, release: str, **transport: Any) -> None:
    """Start Sentry when there is a DSN; errors carry types and frames, never messages, locals or texts.

    Raises:
        ConfigurationError: the extra ``sentry`` is not installed.
    """
    if dsn is None:
        return
    global _sdk  # noqa: PLW0603  # one per process, as in the SDK
    sentry_sdk = _sdk = extras.load("sentry_sdk", needed_by="SENTRY_DSN")
    sentry_sdk.init(
        dsn=dsn,
        release=release,
        data_collection=DATA_COLLECTION,
        default_integrations=False,
        auto_enabling_integrations=False,
        max_breadcrumbs=0,
        traces_sample_rate=None,
        profiles_sample_rate=None,
        enable_logs=False,
        enable_metrics=False,
        auto_session_tracking=False,
        spotlight=False,
        before_send=allowed,
        **transport,
    )


def report(error: BaseException) -> None:
    """Send one error; does nothing without a DSN."""
    if _sdk is not None:
        _sdk.capture_exception(error)


def report_alert(name: str, *, firing: bool) -> None:
    """Send an alert that begins or ends, as an issue of its name; does nothing without a DSN."""
    if _sdk is None:
        return
    issue = name if firing else f"{name}Resolved"
    _sdk.capture_event(
        {
            "level": "error" if firing else "info",
            "exception": {"values": [{"type": issue, "module": "hushgate.alerts"}]},
        }
    )


def flush() -> None:
    """Wait two seconds at most until all reports are sent; does nothing without a DSN."""
    if _sdk is not None:
        _sdk.flush(timeout=2.0)


def allowed(event: Any, _hint: Any) -> Any:
    """The event with its allowed keys only: an exception's message may quote user text."""
    kept = _only(event, SENT)
    if isinstance(raised := event.get("exception"), Mapping):
        kept["exception"] = {"values": [_exception(each) for each in raised.get("values", ())]}
    return kept


def _exception(value: Mapping[str, Any]) -> dict[str, Any]:
    kept = _only(value, SENT_OF_EXCEPTION)
    if isinstance(mechanism := kept.get("mechanism"), Mapping):
        kept["mechanism"] = _only(mechanism, SENT_OF_MECHANISM)
    if isinstance(stack := kept.get("stacktrace"), Mapping):
        kept["stacktrace"] = {"frames": [_only(frame, SENT_OF_FRAME) for frame in stack.get("frames", ())]}
    return kept


def _only(source: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: source[name] for name in names if name in source}
