"""``hushgate backup`` and ``hushgate restore``: Postgres and Redis together, while workers run."""

from __future__ import annotations

import hashlib
import stat
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Final

import orjson
import typer
from redis import Redis

from cli.exit_codes import ExitCode
from cli.options import settings_of
from cli.output import emit, fail
from cli.output_file import private_files
from db.backup.dump import dump_database, require_no_tables, restore_database
from db.backup.restored import repeat_sends, restored_ends
from db.schema import migrate
from tasks.backup.streams import begin_load, finish_load, load_streams, save_streams, saved_entry_ids
from tasks.shards.clients import connect_sync
from worker import __version__
from worker.settings import BackupSettings
from worker.stored_json import object_writer, read_object

TABLES: Final = "postgres.dump"
STREAMS: Final = "redis.ndjson"
MANIFEST: Final = "backup.json"
FORMAT: Final = 1
CLOCK_S: Final = 5.0
"""What was sent so long before the backup began is sent again: clocks of relay and Redis may differ."""
REACH_S: Final = 60.0
OTHERS: Final = 0o077

Programs = Annotated[
    Path | None,
    typer.Option("--programs", help="Folder of pg_dump, pg_restore and psql, for a Postgres newer than 18."),
]
Folder = Annotated[Path, typer.Argument(help="Folder of the backup.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The contents of a backup; the manifest is written last, so that a folder without it is no backup.

    Attributes:
        began: every event that the stream took before is in the backup.
        last_id: the newest entry of each stream of events at that time.
        entries: events in the backup that waited or ran; some of them may be decided in its tables too.
        streams_sha256: of the file of Redis, of which a part looks whole; pg_restore checks the other file.
    """

    format: int
    release: str
    began: datetime
    last_id: str
    entries: int
    marks: int
    streams_sha256: str


def backup(folder: Folder, programs: Programs = None) -> None:
    """Back up Postgres and Redis into a new folder, while workers run.

    DATABASE_URL needs the login of the database's owner. The backup has every event that was accepted before
    the command began: with its decision, or as an event that waits. For example:

        hushgate backup /var/backups/hushgate/2026-11-20
    """
    known = settings_of(BackupSettings)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise fail(f"{folder}: expected an empty folder, got one with files")
    if (mode := stat.S_IMODE(folder.stat().st_mode)) & OTHERS:
        raise fail(
            f"{folder}: expected a folder that only its owner may enter (chmod 700), got mode {mode:o}"
        )
    with private_files():  # they hold secrets of webhooks and hashes of passwords
        try:
            manifest = _saved(known, folder, programs)
        except BaseException:
            for part in folder.iterdir():
                part.unlink()
            raise
    emit([object_writer(Manifest)(manifest)], ["began", "entries", "marks"])


def _saved(known: BackupSettings, folder: Path, programs: Path | None) -> Manifest:
    began = datetime.now(UTC)
    with _redis(known) as redis:
        saved = save_streams(redis, known, folder / STREAMS)
    dump_database(known.database_url.get_secret_value(), folder / TABLES, programs=programs)
    manifest = Manifest(
        format=FORMAT,
        release=__version__,
        began=began,
        last_id=saved.last_id,
        entries=saved.entries,
        marks=saved.marks,
        streams_sha256=_digest(folder / STREAMS),
    )
    (folder / MANIFEST).write_bytes(orjson.dumps(object_writer(Manifest)(manifest)))
    return manifest


def restore(folder: Folder, programs: Programs = None) -> None:
    """Restore a backup into an empty database and a Redis without our streams, before workers start.

    DATABASE_URL needs the login of the database's owner. Newer migrations are applied. Events that waited
    are decided when workers start. What was sent while the backup was made is sent again with the same key,
    except replies that are too late or were taken back. Then run hushgate migrate --create-logins on a new
    server. Repeat an interrupted restore with the same command and an empty database. For example:

        hushgate restore /var/backups/hushgate/2026-11-20
    """
    known = settings_of(BackupSettings)
    manifest = _manifest(folder)
    url = known.database_url.get_secret_value()
    with _redis(known) as redis:
        require_no_tables(url)
        begin_load(redis, known, manifest.streams_sha256)
        loaded = load_streams(redis, known, folder / STREAMS)
        restore_database(url, folder / TABLES, programs=programs)
        migrate.upgrade(url)
        ends = restored_ends(url, saved_entry_ids(folder / STREAMS))
        since = manifest.began - timedelta(seconds=CLOCK_S)
        repeated = repeat_sends(url, since)
        finish_load(redis, loaded, last_id=manifest.last_id, accepted=ends.ended + ends.waiting)
    found = {
        "began": manifest.began.isoformat(),
        "ended": ends.ended,
        "waiting": ends.waiting,
        "sent_again": repeated,
    }
    emit([found], list(found))


def _manifest(folder: Path) -> Manifest:
    try:
        values: Any = orjson.loads((folder / MANIFEST).read_bytes())
    except (OSError, orjson.JSONDecodeError) as error:
        found = error.strerror if isinstance(error, OSError) else "no JSON"
        raise fail(f"{folder}: expected a backup with {MANIFEST}, got {found}") from error
    unreadable: list[str] = []
    manifest = read_object(Manifest, values, MANIFEST, unreadable)
    if manifest.format > FORMAT:  # whose fields may differ
        raise fail(
            f"{folder}: expected a backup of format {FORMAT}, got {manifest.format}", code=ExitCode.REJECTED
        )
    if unreadable:
        lacks = f"got one without a readable {', '.join(unreadable)}"
        raise fail(f"{folder}: expected a backup, {lacks}", code=ExitCode.REJECTED)
    streams = folder / STREAMS
    if not streams.is_file() or _digest(streams) != manifest.streams_sha256:
        raise fail(
            f"{streams}: expected the file that was backed up, got none, a part of it or another one",
            code=ExitCode.REJECTED,
        )
    return manifest


def _digest(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _redis(known: BackupSettings) -> Redis:
    return connect_sync(known.redis_url.get_secret_value(), timeout_s=REACH_S)
