"""Polls the comments of a YouTube channel and publishes them as events.

    REDIS_URL=redis://localhost:6379/0 ACCOUNT=corner-shop OWN_ID=UC... TOKEN=ya29... \
        python -m channels.poller

One poll costs a unit of the API's quota, and one more for each thread with many replies. Comments in
threads that are older than the newest hundred are not seen.
"""

from __future__ import annotations

import json
import logging
import os
import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final

import redis

from . import youtube
from .client import call
from .environment import redis_url, seconds, setting, setup
from .marks import Marks
from .recipe import Json, PayloadError, Request, SendRefused, Setup, TryLater, find, read

STREAM: Final = os.environ.get("HUSHGATE_STREAM", "hushgate:events")
POLL_S: Final = seconds("POLL_S", 60)
SEEN_S: Final = 30 * 86_400
LOG: Final = logging.getLogger("poller")


class Poller:
    """Publishes each comment and each edit once, oldest first."""

    def __init__(self, client: redis.Redis, inbox: Setup, *, url: str, token: str) -> None:
        self.redis, self.inbox, self.url, self.token = client, inbox, url, token

    def poll(self, now: datetime) -> int:
        """Read the newest threads with all their replies; how many events were new."""
        pages = [self.call(youtube.page(self.inbox))]
        for thread in read(pages[0], "items", list):
            shown = find(thread, "replies.comments", list) or []
            if (find(thread, "snippet.totalReplyCount", int) or 0) > len(shown):
                pages.append(self.call(youtube.replies(read(thread, "id", str))))
        marks = Marks(self.redis, f"{youtube.NAME}:{self.inbox.account}")
        sent, unknown = marks.is_sent, marks.is_unknown
        made = [
            each
            for page in pages
            for each in youtube.events(page, self.inbox, sent=sent, unknown=unknown, now=now)
        ]
        return sum(self.publish(event) for event in sorted(made, key=lambda each: str(each["created_at"])))

    def publish(self, event: Json) -> bool:
        """Append an event and note it, both or neither; False when it was published before."""
        mark = f"{youtube.NAME}:{self.inbox.account}:seen:{event['event_id']}"
        if self.redis.expire(mark, SEEN_S):  # it stays known while the channel shows it
            return False
        fields: dict[Any, Any] = {"data": json.dumps(event)}
        pipe = self.redis.pipeline(transaction=True)
        pipe.xadd(STREAM, fields)
        pipe.set(mark, 1, ex=SEEN_S)
        pipe.execute()
        return True

    def call(self, request: Request) -> Json:
        """A page."""
        return call(self.url, request, headers=youtube.RECIPE.credentials(self.token), key=request.path)


def make_poller() -> Poller:
    """The poller that the environment describes."""
    os.environ["CHANNEL"] = youtube.NAME
    url = os.environ.get("CHANNEL_URL", youtube.RECIPE.url)
    return Poller(redis.Redis.from_url(redis_url()), setup(), url=url, token=setting("TOKEN"))


def run(poller: Poller) -> None:
    """Poll until the process ends."""
    with poller.redis:
        while True:
            try:
                LOG.info("%d new events", poller.poll(datetime.now(UTC)))
            except (TryLater, SendRefused, PayloadError, redis.RedisError) as error:
                LOG.warning("no poll: %s", error)
            time.sleep(POLL_S)


def main() -> None:
    """Poll until Ctrl-C."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    with suppress(KeyboardInterrupt):
        run(make_poller())


if __name__ == "__main__":
    main()
