"""Saves and loads the data that only Redis has, as JSON lines.

Lanes, owners, heartbeats and pending lists are left out: workers make them from the entries.
"""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson
from redis import Redis
from redis.exceptions import ResponseError

from tasks.sending.once_stream import marks_of
from tasks.shards.agreement import NOTICE, current_layout
from tasks.shards.layout import ShardLayout, layout_key
from tasks.stream_upkeep.figures import stream_names
from worker.errors import ConfigurationError
from worker.settings import OutgoingStreamSettings

PAGE: Final = 1000
DOUBLED: Final = "shards: they were doubled meanwhile; back up again into another folder"


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedStreams:
    """The contents of a saved file.

    Attributes:
        last_id: the newest id of each stream of events when saving began, with the mark of its shard; every
            entry up to it is in the backup, or has its ending in a dump that is made afterwards.
    """

    last_id: str
    entries: int
    marks: int


def save_streams(redis: Redis, settings: OutgoingStreamSettings, file: Path) -> SavedStreams:
    """Save marks first, then the outgoing streams, then the events; ``redis`` answers bytes.

    An entry that ends meanwhile may be missing, so the database must be dumped afterwards.

    Raises:
        ConfigurationError: the shards were doubled meanwhile.
    """
    layout = current_layout(redis, settings.stream)
    try:
        saved = _save(redis, settings, layout, file)
    except ResponseError as error:
        if "WRONGTYPE" not in str(error):
            raise
        raise ConfigurationError(DOUBLED) from error
    if current_layout(redis, settings.stream) != layout:
        raise ConfigurationError(DOUBLED)
    return saved


def _save(redis: Redis, settings: OutgoingStreamSettings, layout: ShardLayout, file: Path) -> SavedStreams:
    last_ids = {each: _last_id(redis, each.key) for each in layout.streams()}
    entries = marks = 0
    with file.open("wb") as out:
        began = {name: _last_id(redis, name) for name in _outgoing(settings)}
        for mark in _marks(redis, settings):
            out.write(orjson.dumps(mark) + b"\n")
            marks += 1
        for name, last_id in began.items():
            dumped, newer = _dumped(redis, name, last_id)
            if dumped is not None:
                out.write(orjson.dumps({"stream": name, "dump": _text(dumped)}) + b"\n")
            for mark in newer:
                out.write(orjson.dumps(mark) + b"\n")
        out.write(orjson.dumps({"shards": layout.epochs}) + b"\n")
        for each, last_id in last_ids.items():
            for entry_id, fields in _entries(redis, each.key, last_id):
                values = {_text(name): _text(value) for name, value in fields.items()}
                out.write(orjson.dumps({"entry": entry_id + each.shard.mark, "fields": values}) + b"\n")
                entries += 1
    newest = " ".join(last_id + each.shard.mark for each, last_id in last_ids.items())
    return SavedStreams(last_id=newest, entries=entries, marks=marks)


def saved_entry_ids(file: Path) -> list[str]:
    """The ids of the events of a backup, in order."""
    return [line["entry"] for line in _lines(file) if "entry" in line]


def restoring_key(stream: str) -> str:
    """The key that names the backup of a restore until the restore has ended."""
    return f"{{{stream}}}:restoring"


def begin_load(redis: Redis, settings: OutgoingStreamSettings, digest: str) -> None:
    """Note that the file with this digest is loaded: a load that was interrupted begins again.

    Raises:
        ConfigurationError: Redis has streams of ours, other than those of such a load.
    """
    key = restoring_key(settings.stream)
    if redis.get(key) == digest.encode():
        return
    require_empty(redis, settings)
    redis.set(key, digest)


def require_empty(redis: Redis, settings: OutgoingStreamSettings) -> None:
    """Return when no stream of ours is there.

    Raises:
        ConfigurationError: one is.
    """
    names = (settings.stream, layout_key(settings.stream), *_outgoing(settings))
    found = [name for name in names if redis.exists(name)]
    if found:
        raise ConfigurationError(f"REDIS_URL: expected a Redis without our streams, got {', '.join(found)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedStreams:
    """What was loaded.

    Attributes:
        entries: by the key of their stream.
    """

    layout: ShardLayout
    entries: Counter[str]


def load_streams(redis: Redis, settings: OutgoingStreamSettings, file: Path) -> LoadedStreams:
    """Load a file into a Redis without our streams, or with a part of them; ``finish_load`` comes next.

    Raises:
        ConfigurationError: the server cannot read a stream that a newer one wrote.
    """
    layout = ShardLayout(stream=settings.stream)
    loaded: Counter[str] = Counter()
    for line in _lines(file):
        if "mark" in line:
            redis.set(line["mark"], line["decision"], px=line["left_ms"])
        elif "stream" in line:
            _load_stream(redis, line["stream"], base64.b64decode(line["dump"]))
        elif "shards" in line:
            layout = ShardLayout(stream=settings.stream, epochs=tuple(line["shards"]))
            for each in layout.streams():  # what an interrupted load left
                redis.delete(each.key)
        else:
            place, entry_id = layout.place_of(line["entry"])
            fields: Any = {
                base64.b64decode(name): base64.b64decode(value) for name, value in line["fields"].items()
            }
            redis.xadd(place.key, fields, id=entry_id)
            loaded[place.key] += 1
    return LoadedStreams(layout=layout, entries=loaded)


def finish_load(redis: Redis, loaded: LoadedStreams, *, last_id: str, accepted: int) -> None:
    """Set the counts and the layout of loaded streams; ``accepted`` is what the shards have ever taken."""
    ended = max(accepted - loaded.entries.total(), 0)
    for newest in last_id.split():
        place, entry_id = loaded.layout.place_of(newest)
        _count(redis, place.key, entry_id, loaded.entries[place.key] + ended)
        ended = 0  # only the sum over the shards counts
    _seal(redis, loaded.layout)
    redis.delete(restoring_key(loaded.layout.stream))


def _count(redis: Redis, stream: str, last_id: str, accepted: int) -> None:
    """Set the newest id and the count of a stream, which is made when it has no entry."""
    if not redis.exists(stream):
        redis.xgroup_create(stream, "restored", id="0", mkstream=True)
        redis.xgroup_destroy(stream, "restored")
    count = ("ENTRIESADDED", accepted, "MAXDELETEDID", last_id)
    redis.execute_command("XSETID", stream, last_id, *count)  # type: ignore[no-untyped-call]


def _seal(redis: Redis, layout: ShardLayout) -> None:
    """Store the layout, with the notices where streams were."""
    if layout.shards == 1:
        return
    for name in {layout.stream, *(shard.name for shard in layout.sealed())}:
        redis.set(name, NOTICE)
    redis.set(layout_key(layout.stream), ",".join(map(str, layout.epochs)))


def _outgoing(settings: OutgoingStreamSettings) -> tuple[str, ...]:
    return tuple(stream_names(settings).values())


def _load_stream(redis: Redis, name: str, dumped: bytes) -> None:
    try:
        redis.restore(name, 0, dumped, replace=True)
    except ResponseError as error:
        raise ConfigurationError(f"stream {name}: the server does not read this dump: {error}") from error


def _last_id(redis: Redis, stream: str) -> str:
    if not redis.exists(stream):
        return "0-0"
    info: Any = redis.xinfo_stream(stream)
    return bytes(info["last-generated-id"]).decode()


def _dumped(redis: Redis, stream: str, last_id: str) -> tuple[bytes | None, list[dict[str, Any]]]:
    """A stream as of one moment, and the marks of its entries newer than ``last_id``.

    Their marks were perhaps set after the others were saved; without them a relay would send these again
    whose sending the dump of the database does not show yet.
    """
    with redis.pipeline(transaction=True) as both:
        both.dump(stream)
        both.xrange(stream, f"({last_id}")
        dumped, entries = both.execute()
    name = marks_of(stream)
    newer = [name + fields[b"ce_id"].decode(errors="replace") for _, fields in entries if b"ce_id" in fields]
    return dumped, [mark for key in newer if (mark := _mark(redis, key)) is not None]


def _marks(redis: Redis, settings: OutgoingStreamSettings) -> Iterator[dict[str, Any]]:
    for stream in _outgoing(settings):
        for key in redis.scan_iter(match=f"{marks_of(stream)}*", count=PAGE):
            if (mark := _mark(redis, bytes(key).decode())) is not None:
                yield mark


def _mark(redis: Redis, key: str) -> dict[str, Any] | None:
    """A mark as it is saved; None when it is gone."""
    with redis.pipeline(transaction=True) as both:
        both.get(key)
        both.pttl(key)
        decision, left_ms = both.execute()
    return {"mark": key, "decision": decision.decode(), "left_ms": left_ms} if left_ms > 0 else None


def _entries(redis: Redis, stream: str, last_id: str) -> Iterator[tuple[str, dict[bytes, bytes]]]:
    first = "-"
    while page := redis.xrange(stream, first, last_id, count=PAGE):
        rows: Any = page
        yield from ((bytes(entry_id).decode(), fields) for entry_id, fields in rows)
        first = f"({bytes(rows[-1][0]).decode()}"


def _lines(file: Path) -> Iterator[Any]:
    with file.open("rb") as lines:
        for line in lines:
            yield orjson.loads(line)


def _text(value: bytes) -> str:
    return base64.b64encode(value).decode()
