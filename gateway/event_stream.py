"""The stream of events as the review pages use it for test messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import structlog
from redis.exceptions import OutOfMemoryError, RedisClusterException, RedisError

from gateway.intake import RETRY_S, not_replicated, redis_full
from review.http.visit import Refused
from review.languages import gettext as _
from review.services.first_run import EventPlace
from tasks.lanes.lookup import locate_entry
from tasks.publishing.publish import publish
from tasks.publishing.replicated import Replication
from tasks.shards.clients import connect_sync
from worker.errors import NotReplicated, PayloadRejected, StreamFull, StreamSealed
from worker.settings import IngestSettings

log = structlog.get_logger(__name__)

ANSWER_S: Final = 5.0


class RedisEventStream:
    """Publishes single events, and finds their entries."""

    def __init__(self, settings: IngestSettings) -> None:
        self._redis = connect_sync(settings.redis_url.get_secret_value(), timeout_s=ANSWER_S)
        self._settings = settings

    def publish(self, event: Mapping[str, object]) -> str:
        """Append one event; the id of its entry.

        Raises:
            Refused: the event was not published; says why.
        """
        known = self._settings
        try:
            return publish(
                self._redis,
                event,
                stream=known.stream,
                replication=Replication.of(known),
            )
        except PayloadRejected as error:
            raise Refused(400, _("Message"), str(error)) from error
        except (StreamFull, OutOfMemoryError) as error:
            raise redis_full(error) from None
        except NotReplicated:
            raise not_replicated() from None
        except (StreamSealed, RedisError, RedisClusterException, OSError) as error:
            log.warning("test_message_refused", error=type(error).__name__)
            text = _("Redis does not answer. Check REDIS_URL and that the server runs, then send again.")
            raise Refused(503, _("Redis does not answer"), text, retry_after_s=RETRY_S) from None

    def place(self, entry_id: str, user_id: str, conversation_id: str) -> EventPlace:
        """Where the entry is now."""
        try:
            found = locate_entry(
                self._redis,
                self._settings.stream,
                entry_id,
                user_id=user_id,
                conversation_id=conversation_id,
            )
        except (RedisError, OSError) as error:
            log.warning("test_message_not_found", error=type(error).__name__)
            return EventPlace.UNKNOWN
        return EventPlace.LEFT if found is None else EventPlace(found.state.value)
