"""What is known of replies, in Redis: the consumer notes it, and the poller knows our own messages by it."""

from __future__ import annotations

from typing import Any, Final

import redis

from .recipe import KNOWN_S

TRIED: Final = "tried"
SENT_ID: Final = "sent_id"
TAKEN_BACK: Final = "taken_back"
GIVEN_UP: Final = "given_up"


class Marks:
    """The marks of a consumer group.

    A reply has a hash: ``tried`` (its conversation), ``sent_id``, ``taken_back`` and ``given_up``. A message
    that was sent has a key of its own, and so has a conversation with a reply whose outcome is unknown.
    """

    def __init__(self, client: redis.Redis, group: str) -> None:
        self.redis, self.group = client, group

    def of(self, key: str) -> dict[str, str]:
        """What is known of a reply."""
        found: Any = self.redis.hgetall(self._reply(key))
        return dict(found)

    def note(self, key: str, field: str, value: str) -> None:
        """Keep a field of a reply's mark."""
        pipe = self.redis.pipeline(transaction=True)
        self._note(pipe, key, field, value)
        pipe.execute()

    def begin(self, key: str, conversation: str) -> None:
        """A request begins: until ``end`` a message of ours in the conversation may be the reply."""
        pipe = self.redis.pipeline(transaction=True)
        self._note(pipe, key, TRIED, conversation)
        pipe.sadd(self._unknown(conversation), key)
        pipe.expire(self._unknown(conversation), KNOWN_S)
        pipe.execute()

    def sent(self, key: str, sent_id: str) -> None:
        """Keep the channel's id of a reply."""
        pipe = self.redis.pipeline(transaction=True)
        self._note(pipe, key, SENT_ID, sent_id)
        pipe.set(self._message(sent_id), key, ex=KNOWN_S)
        pipe.execute()

    def end(self, key: str) -> None:
        """The reply is done: after ``sent``, so that its message is never taken for that of a person."""
        conversation: Any = self.redis.hget(self._reply(key), TRIED)
        if conversation:
            self.redis.srem(self._unknown(conversation), key)

    def is_sent(self, sent_id: str) -> bool:
        """Whether the consumer sent a message; it stays known while it is asked for."""
        return bool(self.redis.expire(self._message(sent_id), KNOWN_S))

    def is_unknown(self, conversation: str) -> bool:
        """Whether a message of ours in a conversation may be a reply whose outcome is not known yet."""
        return bool(self.redis.exists(self._unknown(conversation)))

    def _note(self, pipe: Any, key: str, field: str, value: str) -> None:
        pipe.hset(self._reply(key), field, value)
        pipe.expire(self._reply(key), KNOWN_S)

    def _reply(self, key: str) -> str:
        return f"{self.group}:reply:{key}"

    def _message(self, sent_id: str) -> str:
        return f"{self.group}:sent:{sent_id}"

    def _unknown(self, conversation: str) -> str:
        return f"{self.group}:unknown:{conversation}"
