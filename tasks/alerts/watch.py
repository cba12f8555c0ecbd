"""Judges all alerts, keeps them in Redis and posts what changed: for a command, or repeatedly in beat."""

from __future__ import annotations

import asyncio
import urllib.request
from collections.abc import Mapping
from datetime import datetime
from http.client import HTTPException
from typing import Any, Final

import orjson
import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from tasks.alerts.changes import NAMED, AlertChange, AlertState, checked_alerts
from tasks.alerts.declared import ALERTS
from tasks.alerts.situation import Situation, load_situation
from tasks.process import telemetry
from tasks.shards.clients import connect
from worker import __version__
from worker.settings import AlertSettings, FleetSettings, load
from worker.stored_json import read_object


def alerts_key(stream: str) -> str:
    """A hash: name of the alert -> its state."""
    return f"{{{stream}}}:alerts"


async def load_known(url: str, stream: str) -> dict[str, AlertState]:
    """The states; those that cannot be read, or whose alert this release does not declare, are left out.

    Raises:
        RedisError: Redis did not answer.
    """
    async with _connected(url) as redis:
        stored: dict[Any, Any] = await redis.hgetall(alerts_key(stream))
    states = {name.decode(errors="replace"): _state(each) for name, each in stored.items()}
    return {name: each for name, each in states.items() if name in NAMED and each is not None}


def _state(stored: bytes) -> AlertState | None:
    """A stored state; None: its alert is posted again, and all other alerts are judged."""
    unreadable: list[str] = []
    try:
        found = read_object(AlertState, orjson.loads(stored), "", unreadable)
    except orjson.JSONDecodeError:
        return None
    return None if unreadable else found


async def keep_known(url: str, stream: str, states: Mapping[str, AlertState]) -> None:
    """Keep the states in place of the earlier states.

    Raises:
        RedisError: Redis did not answer.
    """
    async with _connected(url) as redis, redis.pipeline(transaction=True) as commands:
        commands.delete(alerts_key(stream))
        if states:
            values: dict[Any, Any] = {
                name: orjson.dumps({"since": each.since.isoformat(), "posted": each.posted}).decode()
                for name, each in states.items()
            }
            commands.hset(alerts_key(stream), mapping=values)
        await commands.execute()


def _connected(url: str) -> Redis:
    return connect(url, timeout_s=REACH_S)


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
    urllib.request.build_opener(_NoRedirect).open(request, timeout=REACH_S).close()  # the status says it all


log = structlog.get_logger(__name__)


def found_alerts(now: Situation) -> dict[str, tuple[str, ...]]:
    """Name of each alert whose condition holds -> its sentences."""
    found = {each.name: tuple(each.check(now)) for each in ALERTS}
    return {name: sentences for name, sentences in found.items() if sentences}


async def watch_alerts(settings: AlertSettings) -> None:
    """Judge all alerts every ``alerts_every_s``, in beat; with 0 never."""
    if not settings.alerts_every_s:
        await asyncio.Event().wait()
    watch = AlertWatch(load(FleetSettings))
    while True:
        await asyncio.sleep(settings.alerts_every_s)
        await asyncio.to_thread(watch.check)


class AlertWatch:
    """Checks alerts; keeps the known alerts in memory while Redis does not answer."""

    def __init__(self, settings: FleetSettings) -> None:
        self._settings = settings
        self._remembered: Mapping[str, AlertState] | None = None

    def check(self) -> Situation:
        """Judge all alerts once and post the changes; the situation that was judged."""
        settings = self._settings
        url = settings.database_url.get_secret_value()
        now = asyncio.run(load_situation(settings, url, workers=settings.alerts_workers))
        known = self._known()
        checked = checked_alerts(known, found_alerts(now), now.fleet.at, whole=now.complete)
        failed = frozenset(
            each.alert.name for each in checked.changes if not post_alert(each, settings, now.fleet.at)
        )
        self._keep(checked.after(failed, known or {}))
        return now

    def _known(self) -> Mapping[str, AlertState] | None:
        redis_url = self._settings.redis_url.get_secret_value()
        try:
            return asyncio.run(load_known(redis_url, self._settings.stream))
        except RedisError:
            return self._remembered

    def _keep(self, states: Mapping[str, AlertState]) -> None:
        self._remembered = states
        redis_url = self._settings.redis_url.get_secret_value()
        try:
            asyncio.run(keep_known(redis_url, self._settings.stream, states))
        except RedisError as error:
            log.warning("alerts_not_kept", error=type(error).__name__)
