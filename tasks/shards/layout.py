"""Which streams of events there are, and which of them holds a conversation."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from worker.errors import ConfigurationError
from worker.payload import whole_characters

FIRST: Final = (1,)


def lane_of(user_id: str, conversation_id: str) -> str:
    """The lane of a conversation, as ``lane_of`` in prelude.lua names it."""
    name = f"{user_id}\0{conversation_id}".encode(errors="replace")
    return hashlib.sha1(name, usedforsecurity=False).hexdigest()


def shard_number(user_id: str, conversation_id: str, shards: int) -> int:
    """The shard of a conversation: the first 32 bits of its lane, modulo the number of shards."""
    return int(lane_of(user_id, conversation_id)[:8], 16) % shards


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """One of ``of`` streams that share the events.

    Attributes:
        stream: HUSHGATE_STREAM.
        number: from 0.
    """

    stream: str
    number: int = 0
    of: int = 1

    @property
    def name(self) -> str:
        """The key of its stream; a single shard has the stream's own name."""
        return self.stream if self.of == 1 else f"{self.stream}:{self.number}/{self.of}"

    @property
    def prefix(self) -> str:
        """The start of its other keys: a hash tag that puts them into the stream's cluster slot."""
        return f"{{{self.name}}}:"

    @property
    def sealed(self) -> str:
        """The key of the shard's stream after a doubling: an empty stream that keeps the count of entries."""
        return f"{self.prefix}sealed"

    @property
    def mark(self) -> str:
        """The suffix of its entry ids outside Redis; Redis numbers the entries of each stream separately."""
        return "" if self.of == 1 else f"@{self.number}/{self.of}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardStream:
    """A shard and the key under which its entries are now."""

    shard: Shard
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardLayout:
    """The shards of a stream.

    Attributes:
        epochs: the number of shards at each time, oldest first; the last one counts.
    """

    stream: str
    epochs: tuple[int, ...] = FIRST

    @property
    def shards(self) -> int:
        """How many streams publishers use."""
        return self.epochs[-1]

    def current(self) -> tuple[Shard, ...]:
        """The shards that publishers use."""
        return _shards(self.stream, self.shards)

    def sealed(self) -> tuple[Shard, ...]:
        """Shards of earlier times, which are empty."""
        return tuple(shard for of in self.epochs[:-1] for shard in _shards(self.stream, of))

    def streams(self) -> Iterator[ShardStream]:
        """Every stream that has counters, the oldest first; only the current shards hold entries."""
        yield from (ShardStream(shard=shard, key=shard.sealed) for shard in self.sealed())
        yield from (ShardStream(shard=shard, key=shard.name) for shard in self.current())

    def shard_of(self, payload: bytes) -> Shard:
        """The shard of a payload; the first one for a payload that no worker can read."""
        if self.shards == 1:
            return Shard(stream=self.stream)
        found = conversation_of(payload)
        number = shard_number(*found, self.shards) if found else 0
        return Shard(stream=self.stream, number=number, of=self.shards)

    def place_of(self, entry_id: str) -> tuple[ShardStream, str]:
        """The stream of an entry and its id in Redis.

        Raises:
            ValueError: the mark names no shard of this layout.
        """
        raw, _, mark = entry_id.partition("@")
        for each in self.streams():
            if each.shard.mark.removeprefix("@") == mark:
                return each, raw
        raise ValueError(f"entry id: expected a shard of {self.epochs}, got {mark!r}")


def _shards(stream: str, of: int) -> tuple[Shard, ...]:
    return tuple(Shard(stream=stream, number=number, of=of) for number in range(of))


def conversation_of(payload: bytes) -> tuple[str, str] | None:
    """Account and conversation of a payload as READ sees them; None for a payload with a lane of its own."""
    try:
        body: Any = json.loads(whole_characters(payload))
    except (ValueError, RecursionError):
        return None
    if not isinstance(body, dict):
        return None
    if isinstance(body.get("specversion"), str) and isinstance(body.get("data"), dict):
        body = body["data"]
    user_id, conversation_id = body.get("user_id"), body.get("conversation_id")
    if isinstance(user_id, str) and isinstance(conversation_id, str):
        return user_id, conversation_id
    return None


def layout_key(stream: str) -> str:
    """The key that holds the layout, in the slot of the stream's own name."""
    return f"{{{stream}}}:shards"


def layout_of(stream: str, stored: bytes | str | None) -> ShardLayout:
    """The layout in ``layout_key``; one shard without it."""
    if not stored:
        return ShardLayout(stream=stream)
    text = stored.decode() if isinstance(stored, bytes) else stored
    return ShardLayout(stream=stream, epochs=tuple(int(each) for each in text.split(",")))


def require(layout: ShardLayout, shards: int | None) -> ShardLayout:
    """The layout, when the setting names its number of shards, an earlier one or nothing.

    An earlier number stays in the settings of processes until they are changed after a doubling.

    Raises:
        ConfigurationError: it names a number that never was.
    """
    if shards not in {None, *layout.epochs}:
        raise ConfigurationError(
            f"HUSHGATE_SHARDS: expected {layout.shards}, the shards of {layout.stream}, got {shards};"
            " set that number or nothing, or run: hushgate shards double"
        )
    return layout
