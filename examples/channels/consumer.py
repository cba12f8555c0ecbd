"""Sends Hushgate's replies to a channel, removes what was taken back, and tells the team of escalations.

    pip install redis cryptography
    REDIS_URL=redis://localhost:6379/0 CHANNEL=slack ACCOUNT=corner-shop OWN_ID=U0BOT TOKEN=xoxb-... \
        python -m channels.consumer

Run one for each channel and account. A second one waits and takes over when the first dies, so that replies
keep their order. An entry is acknowledged after the channel took it: a crash repeats at most the request that
was under way.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import logging
import math
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
from .environment import recipe, redis_url, seconds, setting, setup, token
from .lease import LEASE_S, Lease
from .marks import GIVEN_UP, SENT_ID, TAKEN_BACK, TRIED, Marks
from .recipe import KNOWN_S, Gone, Json, Recipe, Request, SendRefused, Setup, TryLater, find, read

EVENTS: Final = os.environ.get("HUSHGATE_STREAM", "hushgate:events")
PLACE: Final = EVENTS.rpartition(":")[0] or EVENTS
REPLIES: Final = f"{PLACE}:replies"
RETRACTIONS: Final = f"{PLACE}:retractions"
ESCALATIONS: Final = f"{PLACE}:escalations"
BLOCK_S: Final = min(1.0, LEASE_S / 4)
KEYS: Final = [base64.b64decode(key) for key in os.environ.get("HUSHGATE_STREAM_KEY", "").split(",") if key]
"""Keys of which one must have signed each entry; two, separated by a comma, while the key is changed."""
GIVE_UP_S: Final = seconds("GIVE_UP_S", 900)
"""How long an entry is tried again, from its first failure, before it is kept aside."""
LIMIT_S: Final = max(GIVE_UP_S, 25 * 3600.0)
"""The same while a limit of the channel is reached: daily quotas begin anew within a day."""
Entry: TypeAlias = tuple[str, str, dict[str, str]]
"""Stream, entry id and fields."""
LOG: Final = logging.getLogger("consumer")


class LeaseLost(Exception):
    """Another consumer may work now: nothing more is sent."""


class Consumer:
    """One member of the group of a channel and an account."""

    def __init__(
        self,
        client: redis.Redis,
        channel: Recipe,
        inbox: Setup,
        *,
        url: str,
        token: str,
        person_token: str = "",
    ) -> None:
        self.redis, self.channel, self.inbox, self.url, self.token = client, channel, inbox, url, token
        self.person_token = person_token
        self.group = f"{channel.name}:{inbox.account}"
        self.name = f"{socket.gethostname()}-{os.getpid()}"
        self.lease = Lease(client, f"{self.group}:lease", self.name)
        self.marks = Marks(client, self.group)
        self.stopping = False
        self.next_try: dict[str, float] = {}
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
        with suppress(redis.RedisError):
            self.lease.give_back()

    def step(self) -> None:
        """Handle the next entry of each stream, or wait while another consumer leads."""
        if not self.lease.take():
            self.pause(LEASE_S / 4)
            return
        for stream, entry_id, fields in self.next_entries():
            if self.stopping or not self.lease.renew():
                return
            self.handle(stream, entry_id, fields)

    def join(self) -> None:
        """Make the group where it is missing. From "0": what was there before is sent too."""
        for stream in self.handlers:
            try:
                self.redis.xgroup_create(stream, self.group, id="0", mkstream=True)
            except redis.ResponseError as error:
                if "BUSYGROUP" not in str(error):
                    raise

    def next_entries(self) -> list[Entry]:
        """The next entry of each stream but those that wait for their next try; waits for one."""
        now = time.monotonic()
        waits = {each: at - now for each, at in self.next_try.items() if at > now}
        due = [each for each in self.handlers if each not in waits]
        found = self.unfinished(due) if due else []
        rest = [each for each in due if each not in {stream for stream, _, _ in found}]
        wait_s = min(BLOCK_S, *waits.values()) if waits else BLOCK_S
        if rest:
            found += self._entries(rest, ">", block=None if found else math.ceil(wait_s * 1000))
        elif not found:
            self.pause(wait_s)
        return found

    def unfinished(self, streams: list[str]) -> list[Entry]:
        """The oldest entry of each stream that was not acknowledged, by us or by a dead consumer."""
        for stream in streams:
            self.redis.xautoclaim(stream, self.group, self.name, 0, justid=True)
        return self._entries(streams, "0", block=None)

    def handle(self, stream: str, entry_id: str, fields: dict[str, str]) -> None:
        """Do what an entry asks for, then acknowledge it. While the channel is away the entry stays ours."""
        try:
            body = json.loads(fields["data"]) if fields else {}  # none: it was trimmed unread
            check_signature(stream, fields)
            if self.is_ours(body):
                self.handlers[stream](fields, body)
        except LeaseLost:
            return
        except TryLater as error:
            LOG.warning("%s %s: %s", stream, entry_id, error)
            if self.failing_s(stream, entry_id) < (LIMIT_S if error.is_limit else GIVE_UP_S):
                self.next_try[stream] = time.monotonic() + error.after_s
                return
            self.give_up(stream, fields, error)
        except (SendRefused, KeyError, ValueError, RecursionError) as error:
            LOG.warning("%s %s refused: %s", stream, entry_id, error)
            self.keep_aside(stream, fields, str(error))
        if fields and stream == REPLIES and "key" in fields:
            self.marks.end(fields["key"])
        self.redis.xack(stream, self.group, entry_id)
        self.redis.delete(self._failing(stream, entry_id))

    def failing_s(self, stream: str, entry_id: str) -> float:
        """How long ago an entry failed first, also in a consumer before us, by the clock of Redis."""
        name = self._failing(stream, entry_id)
        self.redis.set(name, 1, nx=True, ex=KNOWN_S)
        left_ms: Any = self.redis.pttl(name)
        return KNOWN_S - float(left_ms) / 1000

    def give_up(self, stream: str, fields: dict[str, str], error: TryLater) -> None:
        """Keep an entry aside whose outcome is unknown."""
        if stream == REPLIES:
            self.marks.note(fields["key"], GIVEN_UP, "yes")
        self.keep_aside(stream, fields, f"given up after {GIVE_UP_S:.0f} s: {error}")

    def keep_aside(self, stream: str, fields: dict[str, str], error: str) -> None:
        """Append an entry to the stream of refused ones, for an operator."""
        refused: dict[Any, Any] = fields | {"stream": stream, "error": error}
        self.redis.xadd(f"{self.group}:refused", refused, maxlen=10_000)

    def is_ours(self, body: Json) -> bool:
        """Whether an entry belongs to our account and channel."""
        place = find(body, "conversation_id", str) or ""
        return find(body, "user_id", str) == self.inbox.account and place.startswith(f"{self.channel.name}:")

    def reply(self, fields: Mapping[str, str], reply: Json) -> None:
        """Send a reply once, unless it was taken back before."""
        key = fields["key"]
        known = self.marks.of(key)
        sent_id = known.get(SENT_ID) or (self.sent_before(key, reply) if TRIED in known else None)
        if sent_id is None and TAKEN_BACK not in known:
            request = self.channel.send(reply, self.inbox, key)
            self.marks.begin(key, read(reply, "conversation_id", str))
            sent_id = self.channel.sent_id(self.call(request, key), self.inbox)
        if sent_id:
            self.marks.sent(key, sent_id)
            if TAKEN_BACK in self.marks.of(key):  # while we did not know the id
                self.remove(key, reply, sent_id)

    def sent_before(self, key: str, reply: Json) -> str | None:
        """The channel's id of a reply whose request had no answer, where the channel takes no key."""
        if (lookup := self.channel.lookup) is None:
            return None
        request = lookup.request(reply)
        if request.as_person and not self.person_token:
            return None
        return lookup.sent_id(self.call(request, key), reply, self.inbox, key)

    def retraction(self, fields: Mapping[str, str], retraction: Json) -> None:
        """Remove a reply from the channel; one that was not sent yet never is."""
        key = fields["key"]
        self.marks.note(key, TAKEN_BACK, read(retraction, "review_id", str))
        known = self.marks.of(key)
        if sent_id := known.get(SENT_ID):
            self.remove(key, retraction, sent_id)
        elif GIVEN_UP in known:
            raise SendRefused("the reply was given up: remove it in the channel if it was sent")

    def escalation(self, fields: Mapping[str, str], escalation: Json) -> None:
        """Tell the team that a conversation waits for a person."""
        if ".closed" in fields["ce_type"]:
            return
        text = (
            f"A person must answer: {read(escalation, 'reason', str)} {escalation.get('link') or ''}".strip()
        )
        for number, request in enumerate(self.channel.announce(text, escalation, self.inbox)):
            self.call(request, f"escalation {fields['ce_id']} {number}")

    def remove(self, key: str, entry: Json, sent_id: str) -> None:
        """Remove a sent message; it may be gone already."""
        with suppress(Gone):
            self.call(self.channel.retract(entry, self.inbox, sent_id), f"retraction {key}")

    def call(self, request: Request, key: str) -> Json:
        """The channel's answer to a request, also where its place moved."""
        try:
            return self.answer(request, key)
        except SendRefused as error:
            if (moved := self.channel.moved(request, error.answer)) is None:
                raise
        return self.answer(moved, key)

    def answer(self, request: Request, key: str) -> Json:
        """The channel's answer to a request, which is shorter than the lease that is renewed before it."""
        if not self.lease.renew():
            raise LeaseLost
        token = self.person_token if request.as_person else self.token
        if not token:
            raise SendRefused("PERSON_TOKEN: expected a token, got none: do it in the channel by hand")
        url = self.url.replace("{token}", token)
        answer = call(url, request, headers=self.channel.credentials(token), key=key)
        self.channel.check_answer(answer)
        return answer

    def pause(self, seconds: float) -> None:
        """Wait, but not longer than until ``stop``."""
        end = time.monotonic() + seconds
        while not self.stopping and time.monotonic() < end:
            time.sleep(0.1)

    def _entries(self, streams: list[str], after: str, *, block: int | None) -> list[Entry]:
        wanted: dict[Any, Any] = dict.fromkeys(streams, after)
        found: Any = self.redis.xreadgroup(self.group, self.name, wanted, count=1, block=block)
        return [(stream, *entry) for stream, entries in found or () for entry in entries]

    def _failing(self, stream: str, entry_id: str) -> str:
        return f"{self.group}:failing:{stream}:{entry_id}"


def check_signature(stream: str, fields: Mapping[str, str]) -> None:
    """Refuse an entry that none of ``KEYS`` signed: others can write to the streams too."""
    if not fields or not KEYS:
        return
    digest = hashlib.sha256(fields["data"].encode()).hexdigest()
    names = ("ce_id", "ce_type", "ce_source", "ce_time")
    signed = "\n".join((stream, *(fields.get(name, "") for name in names), digest, fields.get("key", "")))
    macs = [hmac.digest(key, signed.encode(), hashlib.sha256) for key in KEYS]
    given = fields.get("signature", "").encode()
    if not any(hmac.compare_digest(given, b"v1," + base64.b64encode(mac)) for mac in macs):
        raise SendRefused("signature: expected one of HUSHGATE_STREAM_KEY")


def connected(url: str) -> redis.Redis:
    """A client of the streams; bytes that are no text must not stop the entries behind them."""
    # Protocol 2: answers have the same form in every release of redis-py.
    return redis.Redis.from_url(url, protocol=2, decode_responses=True, encoding_errors="replace")


def make_consumer() -> Consumer:
    """The consumer that the environment describes."""
    found = recipe()
    return Consumer(
        connected(redis_url()),
        found,
        setup(),
        url=os.environ.get("CHANNEL_URL") or found.url or setting("CHANNEL_URL"),
        token=token("TOKEN", found.token_form),
        person_token=token("PERSON_TOKEN", found.token_form) if os.environ.get("PERSON_TOKEN") else "",
    )


def main() -> None:
    """Run a consumer until SIGTERM or Ctrl-C."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    consumer = make_consumer()
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, consumer.stop)
    consumer.run()


if __name__ == "__main__":
    main()
