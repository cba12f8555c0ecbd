"""Judges all alerts and posts what changed: once for a command, or again and again inside beat."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import structlog
from redis.exceptions import RedisError

from tasks.alerts.changes import AlertState, checked_alerts
from tasks.alerts.declared import ALERTS
from tasks.alerts.known import keep_known, load_known
from tasks.alerts.posting import post_alert
from tasks.alerts.situation import Situation, load_situation
from worker.settings import AlertSettings, FleetSettings, load

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
        whole = now.fleet.stream is not None and now.fleet.stored is not None
        checked = checked_alerts(known, found_alerts(now), now.fleet.at, whole=whole)
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
