"""Posts alerts that begin and end: to the log, to a webhook and to Sentry."""

from __future__ import annotations

import urllib.request
from datetime import datetime
from http.client import HTTPException
from typing import Any, Final

import orjson
import structlog

from tasks.alerts.changes import AlertChange
from tasks.process import telemetry
from worker import __version__
from worker.settings import FleetSettings

log = structlog.get_logger(__name__)

REACH_S: Final = 10.0


def alert_body(change: AlertChange, *, stream: str, at: datetime) -> dict[str, Any]:
    """The body for the webhook; ``text`` has all facts for chats, ``key`` is the same for begin and end."""
    alert, state = change.alert, "firing" if change.firing else "resolved"
    return {
        "key": f"hushgate/{stream}/{alert.name}",
        "alert": alert.name,
        "state": state,
        "severity": alert.severity.value,
        "summary": alert.summary,
        "found": list(change.found),
        "since": change.since.isoformat(),
        "at": at.isoformat(),
        "section": alert.section,
        "text": f"[{state}] {alert.name}: {'; '.join(change.found) or alert.summary} ({alert.section})",
    }


def post_alert(change: AlertChange, settings: FleetSettings, at: datetime) -> bool:
    """Post one change; False, and a line in the log, when the webhook did not take it."""
    body = alert_body(change, stream=settings.stream, at=at)
    shown = {name: body[name] for name in ("alert", "severity", "found")}
    if settings.alerts_webhook is not None:
        try:
            _post(settings.alerts_webhook.get_secret_value(), orjson.dumps(body))
        except (OSError, HTTPException) as error:  # the message may quote the URL, which is a secret
            log.warning("alert_not_posted", alert=change.alert.name, error=type(error).__name__)
            return False
    if change.firing:
        log.error("alert_firing", **shown)
    else:
        log.info("alert_resolved", **shown)
    telemetry.report_alert(change.alert.name, firing=change.firing)
    return True


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Answers a redirect with its error: the alert would go to an address that no setting names."""

    def redirect_request(self, *_arguments: Any) -> None:
        """Follow no redirect: it is an error."""


def _post(url: str, body: bytes) -> None:
    headers = {"Content-Type": "application/json", "User-Agent": f"hushgate/{__version__}"}
    request = urllib.request.Request(url, body, headers)  # noqa: S310  # the setting accepts http and https only
    with urllib.request.build_opener(_NoRedirect).open(request, timeout=REACH_S) as answer:
        answer.read()
