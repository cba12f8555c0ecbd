"""``POST /api/v1/events``: checked, within the rights of the token, then appended to the stream."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import structlog
from redis import Redis
from redis.exceptions import OutOfMemoryError, RedisClusterException, RedisError
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from gateway import batch
from gateway.batch import Batch
from review.access import Right
from review.api.body import json_answer
from review.http.field_problems import FieldProblem
from review.http.page_routes import PageRoute
from review.http.visit import Refused, Visit
from tasks.limits.rates import rate_of, take_all
from tasks.publishing.publish import append, open_shards
from tasks.publishing.replicated import Replication
from tasks.shards.clients import connect_sync
from worker.errors import NotReplicated, StreamFull, StreamSealed
from worker.settings import IngestSettings


class PublishRates:
    """Events a second of each API token and of each account.

    Args:
        stream: the stream of events; its hash tag is in the keys, so that all are in one cluster slot.
        most_events: of one request; an unused limit lets that many pass.
        per_s: events a second on average of one API token, and of one account; 0 for no limit.
    """

    def __init__(self, redis: Redis, *, stream: str, most_events: int, per_s: float) -> None:
        self._redis = redis
        self._prefix = f"{{{stream}}}:rate"
        self._most_events = most_events
        self._per_s = per_s

    @property
    def limited(self) -> bool:
        """Whether there is a limit at all."""
        return bool(self._per_s)

    def wait_s(self, token: str, events: Mapping[str, int]) -> float:
        """Take events by account; seconds to wait when there are too many, and nothing was taken.

        Raises:
            RedisError: Redis did not answer.
        """
        if not self._per_s:
            return 0.0
        rate = rate_of(self._per_s * 60, least_burst=self._most_events)
        taken = {f"{self._prefix}:token:{token}": (rate, sum(events.values()))}
        taken |= {f"{self._prefix}:account:{user_id}": (rate, count) for user_id, count in events.items()}
        return take_all(self._redis, taken)


log = structlog.get_logger(__name__)

MOST_EVENTS: Final = 500
"""Events of one request, which then holds Redis for a few milliseconds at most."""
BODY_BYTES: Final = 4_194_304
"""Size of one request: 500 events of 8 KiB."""
ANSWER_S: Final = 10.0
"""Patience with Redis; afterwards the publisher gets 503 and tries again."""
RETRY_S: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedEvent:
    """An event on the stream; ``item`` is its number in the request, ``entry_id`` the id of its entry."""

    item: int
    event_id: str
    user_id: str
    entry_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedEvents:
    """The events of a request that were published, in their order; with 207 ``errors`` has the others."""

    events: tuple[AcceptedEvent, ...]
    errors: tuple[FieldProblem, ...] = ()


class Intake:
    """Publishes the events of requests.

    A refused request publishes none of its events; with several shards, 503 may leave some published. Of a
    batch with unusable events the others are published.
    """

    def __init__(self, settings: IngestSettings) -> None:
        self.redis = connect_sync(settings.redis_url.get_secret_value(), timeout_s=ANSWER_S)
        self._settings = settings
        self._agreed = False
        self.rates = PublishRates(
            self.redis,
            stream=settings.stream,
            most_events=MOST_EVENTS,
            per_s=settings.ingest_rate,
        )

    def route(self) -> PageRoute:
        """The line of the route table."""
        return PageRoute(
            path="/api/v1/events",
            name="api_events",
            handler=self.publish,
            right=Right.PUBLISH,
            methods=("POST",),
            api=True,
            summary="Publish one event or several",
            response=AcceptedEvents,
            body=batch.PublishedEvent,
            batch=True,
            accepts=batch.ACCEPTED,
            status=202,
            also={207: "Some cannot be used, the others are published"},
            body_bytes=BODY_BYTES,
        )

    async def publish(self, visit: Visit) -> Response:
        """Append the events of the body; 202 with the ids of their entries, 207 when some cannot be used."""
        headers = visit.request.headers
        media = batch.media_type(headers.get("Content-Type", ""), headers.get("Content-Encoding", ""))
        found = await run_in_threadpool(self._checked, await visit.request.body(), media)
        _require_rights(visit, found)
        assert visit.api_token is not None  # changes need one
        ids = await run_in_threadpool(self._append, found, str(visit.api_token.token_id))
        refused = len({each.item for each in found.problems})
        log.info("events_accepted", events=len(ids), refused=refused, token_id=str(visit.api_token.token_id))
        accepted = tuple(
            AcceptedEvent(item=item, event_id=event.event_id, user_id=event.user_id, entry_id=entry_id)
            for item, event, entry_id in zip(found.items, found.events, ids, strict=True)
        )
        return json_answer(AcceptedEvents(events=accepted, errors=found.problems), 207 if refused else 202)

    def _checked(self, body: bytes, media: str) -> Batch:
        """The events of a body.

        Raises:
            Refused: 413, too many; 422, none of them is an event.
        """
        events = batch.split(body, media, MOST_EVENTS)
        if len(events) > MOST_EVENTS:
            text = f"Expected at most {MOST_EVENTS} events in one request, got more; none was published."
            raise Refused(413, "Too many events", text)
        found = batch.check(events)
        if not found.events:
            raise batch.unusable(found.problems, len(events))
        return found

    def _append(self, found: Batch, token: str) -> Sequence[str]:
        """Append the events, in one step for each shard; the ids of their entries.

        Raises:
            Refused: 429, too many a second; 503, Redis is full, or away and the outcome is unknown, or too
                few replicas have the events.
        """
        try:
            if self._settings.shards is not None and not self._agreed:
                open_shards(self.redis, self._settings.stream, self._settings.shards)
                self._agreed = True
            self._require_rate(token, Counter(event.user_id for event in found.events))
            return append(
                self.redis,
                [event.payload for event in found.events],
                stream=self._settings.stream,
                replication=Replication.of(self._settings),
            )
        except (StreamFull, OutOfMemoryError) as error:
            log.warning("events_refused", cause="redis_full")
            raise redis_full(error) from None
        except NotReplicated:
            log.warning("events_refused", cause="not_replicated")
            raise not_replicated() from None
        except StreamSealed:
            log.warning("events_refused", cause="shards_doubled")
            text = "The stream is being enlarged. Publish the same events again: each id is decided once."
            raise Refused(503, "Stream is being enlarged", text, retry_after_s=RETRY_S) from None
        except (RedisError, RedisClusterException, OSError) as error:
            log.warning("events_refused", cause="redis_away", error=type(error).__name__)
            text = "Redis does not answer. Publish the same events again: each id is decided once."
            raise Refused(503, "Redis does not answer", text, retry_after_s=RETRY_S) from None

    def _require_rate(self, token: str, events: Mapping[str, int]) -> None:
        if wait_s := self.rates.wait_s(token, events):
            text = f"None of the events was published. Wait {wait_s:.1f} seconds, or ask for a higher limit."
            raise Refused(429, "Too many events a second", text, retry_after_s=math.ceil(wait_s))


def redis_full(error: StreamFull | OutOfMemoryError) -> Refused:
    """The answer on a full Redis; of several shards some may have taken their events."""
    text = "Redis is full; none of the events was published. Publish them again later."
    if isinstance(error, StreamFull) and error.published:
        text = "Redis is full. Publish the same events again: each id is decided once."
    return Refused(503, "Redis is full", text, retry_after_s=RETRY_S)


def not_replicated() -> Refused:
    """The answer when a failover could still lose the events."""
    text = "Too few replicas have the events yet. Publish the same events again: each id is decided once."
    return Refused(503, "Too few replicas", text, retry_after_s=RETRY_S)


def _require_rights(visit: Visit, found: Batch) -> None:
    """Refuse (403) events of accounts for which the token's owner may not publish, known or not."""
    problems = [
        FieldProblem(
            item=item,
            field="user_id",
            expected="an account for which the token's owner may publish",
            got=event.user_id,
        )
        for item, event in zip(found.items, found.events, strict=True)
        if not visit.may(Right.PUBLISH, event.user_id)
    ]
    if problems:
        text = f"None of the events was published. {problems[0]}."
        raise Refused(403, "Not allowed", text, problems=problems)
