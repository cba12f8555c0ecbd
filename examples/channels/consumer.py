"""Sends Hushgate's replies to a channel, removes what was taken back, and tells the team of escalations.

    pip install redis cryptography
    REDIS_URL=redis://localhost:6379/0 CHANNEL=slack ACCOUNT=corner-shop OWN_ID=U0BOT TOKEN=xoxb-... \
        python -m channels.consumer

Run one for each channel and account. A second one waits and takes over when the first dies, so that replies
keep their order. An entry is acknowledged after the channel took it: a crash repeats at most the request that
was under way.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from types import FrameType
from typing import Any, Final, TypeAlias

import redis

from .client import call
from .environment import recipe, setting, setup
from .recipe import Gone, Json, Recipe, Request, SendRefused, Setup, TryLater, find, read

REPLIES: Final = os.environ.get("HUSHGATE_REPLY_STREAM", "hushgate:replies")
RETRACTIONS: Final = os.environ.get("HUSHGATE_RETRACTION_STREAM", "hushgate:retractions")
ESCALATIONS: Final = os.environ.get("HUSHGATE_ESCALATION_STREAM", "hushgate:escalations")
BLOCK_MS: Final = 1000
LEASE_S: Final = float(os.environ.get("LEASE_S", "30"))
"""When another consumer takes over from a dead one. Longer than a request takes, see ``client.TIMEOUT_S``."""
LEASE: Final = """
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) or redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 0
"""
MARK_S: Final = 30 * 86_400
"""How long sent messages are known: until then a reply can be taken back, and is not sent twice."""
Entry: TypeAlias = tuple[str, str, dict[str, str]]
"""Stream, entry id and fields."""
LOG: Final = logging.getLogger("consumer")


class Consumer:
    """One member of the group of a channel and an account."""

    def __init__(self, client: redis.Redis, channel: Recipe, inbox: Setup, *, url: str, token: str) -> None:
        self.redis, self.channel, self.inbox, self.url, self.token = client, channel, inbox, url, token
        self.group = f"{channel.name}:{inbox.account}"
        self.name = f"{socket.gethostname()}-{os.getpid()}"
        self.stopping = False
        self.handlers = {
            REPLIES: self.reply,
            RETRACTIONS: self.retraction,
            ESCALATIONS: self.escalation,
        }

    def stop(self, _signal: int = 0, _frame: FrameType | None = None) -> None:
        """End after the entry under way."""
        self.stopping = True

    def run(self) -> None:
        """Handle entries until ``stop``."""
        while not self.stopping:
            try:
                self.join()
                while not self.stopping:
                    self.step()
            except redis.RedisError as error:  # it is away, or was emptied: begin again
                LOG.warning("Redis: %s", error)
                self.pause(1)
        self.leave()

    def step(self) -> None:
        """Handle the next entry of each stream, or wait while another consumer leads."""
        if not self.leads():
            self.pause(LEASE_S / 4)
            return
        for stream, entry_id, fields in self.unfinished() or self.new():
            if not self.stopping and self.leads():
                self.handle(stream, entry_id, fields)

    def leads(self) -> bool:
        """Whether we hold the group's lease; it is taken when it is free, and renewed."""
        lease_ms = int(LEASE_S * 1000)
        return bool(self.redis.eval(LEASE, 1, f"{self.group}:lease", self.name, lease_ms))

    def leave(self) -> None:
        """Give the lease back, so that the next consumer need not wait."""
        with suppress(redis.RedisError):
            if self.redis.get(f"{self.group}:lease") == self.name:
                self.redis.delete(f"{self.group}:lease")

    def join(self) -> None:
        """Make the group where it is missing. From "0": what was there before is sent too."""
        for stream in self.handlers:
            try:
                self.redis.xgroup_create(stream, self.group, id="0", mkstream=True)
            except redis.ResponseError as error:
                if "BUSYGROUP" not in str(error):
                    raise

    def unfinished(self) -> list[Entry]:
        """The oldest entry of each stream that was not acknowledged, by us or by a dead consumer."""
        for stream in self.handlers:
            self.redis.xautoclaim(stream, self.group, self.name, 0, justid=True)
        return self._entries("0", block=None)

    def new(self) -> list[Entry]:
        """The next entry of each stream; waits for it."""
        return self._entries(">", block=BLOCK_MS)

    def handle(self, stream: str, entry_id: str, fields: dict[str, str]) -> None:
        """Do what an entry asks for, then acknowledge it. While the channel is away the entry stays ours."""
        try:
            body = json.loads(fields["data"]) if fields else {}  # none: it was trimmed unread
            if self.is_ours(body):
                self.handlers[stream](fields, body)
        except TryLater as error:
            LOG.warning("%s %s: %s", stream, entry_id, error)
            self.pause(error.after_s)
            return
        except (SendRefused, KeyError, ValueError) as error:
            LOG.warning("%s %s refused: %s", stream, entry_id, error)
            refused: dict[Any, Any] = fields | {"error": str(error)}
            self.redis.xadd(f"{self.group}:refused", refused, maxlen=10_000)
        self.redis.xack(stream, self.group, entry_id)

    def is_ours(self, body: Json) -> bool:
        """Whether an entry belongs to our account and channel."""
        place = find(body, "conversation_id", str) or ""
        return find(body, "user_id", str) == self.inbox.account and place.startswith(f"{self.channel.name}:")

    def reply(self, fields: Mapping[str, str], reply: Json) -> None:
        """Send a reply once, unless it was taken back before."""
        key = fields["key"]
        known: Any = self.redis.hgetall(self.mark(key))
        sent_id: str | None = known.get("sent_id") or (
            self.sent_before(key, reply) if "tried" in known else None
        )
        if sent_id is None and "taken_back" not in known:
            self.remember(key, "tried", "yes")
            sent_id = self.channel.sent_id(self.call(self.channel.send(reply, self.inbox, key), key))
        if sent_id:
            self.remember(key, "sent_id", sent_id)
            if self.redis.hexists(self.mark(key), "taken_back"):  # while we did not know the id
                self.remove(key, reply, sent_id)

    def sent_before(self, key: str, reply: Json) -> str | None:
        """The channel's id of a reply whose request had no answer, where the channel takes no key."""
        if (lookup := self.channel.lookup) is None:
            return None
        return lookup.sent_id(self.call(lookup.request(reply), key), reply, self.inbox, key)

    def retraction(self, fields: Mapping[str, str], retraction: Json) -> None:
        """Remove a reply from the channel; one that was not sent yet never is."""
        key = fields["key"]
        self.remember(key, "taken_back", retraction["review_id"])
        if sent_id := self.redis.hget(self.mark(key), "sent_id"):
            self.remove(key, retraction, str(sent_id))

    def escalation(self, fields: Mapping[str, str], escalation: Json) -> None:
        """Tell the team that a conversation waits for a person."""
        if ".closed" in fields["ce_type"]:
            return
        text = (
            f"A person must answer: {read(escalation, 'reason', str)} {escalation.get('link') or ''}".strip()
        )
        if request := self.channel.announce(text, escalation, self.inbox):
            self.call(request, f"escalation {fields['ce_id']}")

    def remove(self, key: str, entry: Json, sent_id: str) -> None:
        """Remove a sent message; it may be gone already."""
        with suppress(Gone):
            self.call(self.channel.retract(entry, self.inbox, sent_id), f"retraction {key}")

    def call(self, request: Request, key: str) -> Json:
        """The channel's answer to a request."""
        authorization = self.channel.authorization.format(token=self.token)
        answer = call(self.url, request, authorization=authorization, key=key)
        self.channel.check_answer(answer)
        return answer

    def mark(self, key: str) -> str:
        """The Redis key of what is known of a reply."""
        return f"{self.group}:reply:{key}"

    def remember(self, key: str, field: str, value: str) -> None:
        """Keep a field of a reply's mark."""
        pipe = self.redis.pipeline(transaction=True)
        pipe.hset(self.mark(key), field, value)
        pipe.expire(self.mark(key), MARK_S)
        if field == "sent_id":
            pipe.set(f"{self.group}:sent:{value}", key, ex=MARK_S)  # a poller knows our own messages by it
        pipe.execute()

    def pause(self, seconds: float) -> None:
        """Wait, but not longer than until ``stop``."""
        end = time.monotonic() + seconds
        while not self.stopping and time.monotonic() < end:
            time.sleep(0.1)

    def _entries(self, after: str, *, block: int | None) -> list[Entry]:
        streams: dict[Any, Any] = dict.fromkeys(self.handlers, after)
        found: Any = self.redis.xreadgroup(self.group, self.name, streams, count=1, block=block)
        return [(stream, *entry) for stream, entries in found or () for entry in entries]


def main() -> None:
    """Run a consumer until SIGTERM or Ctrl-C."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    found = recipe()
    url = os.environ.get("CHANNEL_URL") or found.url or setting("CHANNEL_URL")
    # Protocol 2: answers have the same form in every release of redis-py.
    with redis.Redis.from_url(setting("REDIS_URL"), protocol=2, decode_responses=True) as client:
        consumer = Consumer(client, found, setup(), url=url, token=setting("TOKEN"))
        for each in (signal.SIGTERM, signal.SIGINT):
            signal.signal(each, consumer.stop)
        consumer.run()


if __name__ == "__main__":
    main()
