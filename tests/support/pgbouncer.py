"""PgBouncer in transaction mode in front of the embedded Postgres."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs, urlsplit

from tests.support.pools import until_ready

UNPACKED: Final = "out/pgbouncer/usr/sbin/pgbouncer"
PLACES: Final = (os.environ.get("HUSHGATE_PGBOUNCER"), "/usr/sbin/pgbouncer", UNPACKED)
CONFIG: Final = """[databases]
* = host={host} port={port} user={login}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {listen}
unix_socket_dir =
auth_type = any
pool_mode = {mode}
default_pool_size = {size}
{user}
"""


def program() -> str:
    """The path of the program; ``make pgbouncer`` gets it."""
    found = shutil.which("pgbouncer") or next((each for each in PLACES if each and Path(each).exists()), None)
    assert found, "no pgbouncer: run make pgbouncer, or set HUSHGATE_PGBOUNCER"
    return found


@contextmanager
def pooled(url: str, *, size: int, port: int | None = None, mode: str = "transaction") -> Iterator[str]:
    """A pooler with ``size`` server connections to the database of ``url``; the URL to use instead.

    ``port``: of an earlier pooler, whose place it takes.
    """
    parts = urlsplit(url)
    host = parse_qs(parts.query).get("host", [parts.hostname or ""])[0]
    with socket.socket() as free:
        free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        free.bind(("127.0.0.1", port or 0))
        listen = free.getsockname()[1]
    folder = Path(tempfile.mkdtemp(prefix="hushgate-pgbouncer-"))
    folder.chmod(0o755)  # as root the program runs as another user
    config = folder / "pgbouncer.ini"
    user = f"user = {Path(host).owner()}" if os.getuid() == 0 else ""  # who may use the server's socket
    login, behind = parts.username or "postgres", parts.port or 5432
    known = {"host": host, "port": behind, "login": login, "listen": listen, "mode": mode}
    config.write_text(CONFIG.format(**known, size=size, user=user))
    words = [program(), str(config)]
    with subprocess.Popen(
        words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=_with_unpacked_libraries()
    ) as process:
        try:
            through = f"postgresql://{login}@127.0.0.1:{listen}{parts.path}"
            until_ready(through)
            yield through
        finally:
            process.terminate()
            process.wait(10)
            shutil.rmtree(folder, ignore_errors=True)


def _with_unpacked_libraries() -> dict[str, str]:
    libraries = sorted({str(each.parent.resolve()) for each in Path("out/pgbouncer").rglob("*.so*")})
    return os.environ | ({"LD_LIBRARY_PATH": ":".join(libraries)} if libraries else {})
