"""One JSON object a line on stderr; ids, never user text and never a secret, at info and above."""

from __future__ import annotations

import json
import logging
import re
import sys
import threading
import traceback
from collections.abc import Callable, Collection, Mapping
from contextlib import nullcontext, suppress
from functools import cache, partial
from types import TracebackType
from typing import Any, Final, TextIO
from urllib.parse import parse_qs, unquote, urlsplit

import structlog
from pydantic import SecretStr
from structlog.typing import EventDict, WrappedLogger

from worker.settings import Environment

log = structlog.get_logger(__name__)

MASK: Final = "********"
SHORTEST_SECRET_CHARS: Final = 6
"""Shorter secrets are not masked: masking them would destroy ordinary words."""

PLAIN_LOGGERS: Final = (
    "celery.apps",
    "celery.beat",
    "celery.worker.consumer.connection",
    "celery.worker.consumer.gossip",
    "celery.worker.consumer.mingle",
    "kombu.pidbox",
    "uvicorn.error",
)
"""Library loggers whose messages hold only hosts, schedules and connections: their strings are shown."""

PLAIN_ARGUMENTS: Final = frozenset({"name", "id", "hostname", "runtime", "description"})
"""Named arguments of Celery's task messages that hold no payload; ``exc`` and ``return_value`` may."""

UP_TO_DATA: Final = re.compile(r"[^\n<(\[{\"]*")


class _Shown:
    """Placeholder of an argument that looks the same in every format."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


HIDDEN: Final = _Shown("…")
_MASKED: Final[set[str]] = set()
_MASKS: Final[list[re.Pattern[str]]] = []


def configure(level: str, secrets: Collection[str] = ()) -> None:
    """Send structlog, the standard library's loggers and uncaught errors through one JSON renderer.

    ``secrets``, from ``secret_values``, appear in no line.
    """
    shared: tuple[Any, ...] = (
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        bare_exception,
    )
    handler = _handler(shared)
    structlog.configure(
        processors=[*shared, *RENDERERS],
        logger_factory=partial(_Lines, handler),
        wrapper_class=structlog.make_filtering_bound_logger(level),
        cache_logger_on_first_use=True,
    )
    _MASKED.clear()
    _MASKS.clear()
    mask(secrets)
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level)
    for noisy in ("httpx2", "httpcore2", "aiohttp", "psycopg.pool"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    sys.excepthook = _uncaught
    threading.excepthook = _uncaught_in_thread


def mask(secrets: Collection[str]) -> None:
    """Mask these too from now on, in the lines of this process."""
    _MASKED.update(secrets)
    if not _MASKED:
        return
    written = {form for secret in _MASKED for form in (secret, json.dumps(secret)[1:-1])}
    _MASKS[:] = [re.compile("|".join(re.escape(form) for form in sorted(written, key=len, reverse=True)))]


def secret_values(settings: Environment) -> tuple[str, ...]:
    """Values that must not appear in logs: keys, and passwords inside URLs, encoded and decoded."""
    found: set[str] = set()
    for name in type(settings).model_fields:
        value = getattr(settings, name)
        if isinstance(value, SecretStr):
            found.update(_secret_parts(value.get_secret_value()))
        elif isinstance(value, str) and "://" in value:
            found.update(_secret_parts(value) - {value})
    return tuple(
        sorted((each for each in found if len(each) >= SHORTEST_SECRET_CHARS), key=len, reverse=True)
    )


def bare_exception(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Replace an exception by its type and frames: its message may quote what a user wrote."""
    caught = event.pop("exc_info", None)
    if caught is True:
        caught = sys.exc_info()[1]
    if isinstance(caught, tuple):
        caught = caught[1]
    if isinstance(caught, BaseException):
        frames = traceback.extract_tb(caught.__traceback__)
        event["exception"] = type(caught).__name__
        event["frames"] = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
    return event


def bare_message(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Replace a library's message by its template and harmless arguments: Celery logs whole task bodies."""
    arguments = event.pop("positional_args", ())
    record: logging.LogRecord = event["_record"]
    event.pop("stack_info", None)
    if not isinstance(record.msg, str):
        event["event"] = type(record.msg).__name__
    elif record.name.startswith(PLAIN_LOGGERS):
        event["event"] = _filled(record.msg, _without_stacks(arguments))
    elif arguments:
        event["event"] = _filled(record.msg, _harmless(arguments))
    else:
        match = UP_TO_DATA.match(record.msg)
        event["event"] = match[0].strip() if match else ""
    return event


def _harmless(arguments: object) -> object:
    if isinstance(arguments, Mapping):
        return {name: value if name in PLAIN_ARGUMENTS else _safe(value) for name, value in arguments.items()}
    return tuple(_safe(value) for value in (arguments if isinstance(arguments, tuple) else (arguments,)))


def _without_stacks(arguments: object) -> object:
    """Arguments without the lines of a stack, which Beat adds to an error beside its traceback."""
    if not isinstance(arguments, tuple):
        return arguments
    return tuple(HIDDEN if isinstance(each, list) else each for each in arguments)


def _filled(template: str, arguments: Any) -> str:
    try:
        return template % arguments if arguments else template
    except (TypeError, ValueError, KeyError):
        return template


def _safe(value: object) -> object:
    if value is None or isinstance(value, bool | int | float):
        return value
    return _Shown(type(value).__name__) if isinstance(value, BaseException) else HIDDEN


def _handler(shared: tuple[Any, ...]) -> logging.StreamHandler[TextIO]:
    logging.raiseExceptions = False  # it would print a failed record's arguments
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=(*shared, bare_message),
            pass_foreign_args=True,
            use_get_message=False,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *RENDERERS],
        )
    )
    return handler


@cache
def _encoder(default: Callable[[Any], Any]) -> json.JSONEncoder:
    return json.JSONEncoder(default=default)


def _json_line(event: EventDict, *, default: Callable[[Any], Any]) -> str:
    """``json.dumps`` would make an encoder for every line."""
    return _encoder(default).encode(event)


def _masked(_logger: WrappedLogger, _method: str, line: Any) -> Any:
    """The last processor: it masks every secret in the finished line."""
    for each in _MASKS:
        line = each.sub(MASK, line)
    return line


class _Lines:
    """Writes our lines beside those of libraries, without a record of ``logging`` for each.

    As in ``logging``, an error of the stream stops no caller.
    """

    def __init__(self, handler: logging.StreamHandler[TextIO], name: str) -> None:
        self.name = name
        self._handler = handler

    def write(self, line: str) -> None:
        """Write one line."""
        with suppress(OSError, ValueError), self._handler.lock or nullcontext():
            self._handler.stream.write(f"{line}\n")
            self._handler.flush()

    debug = info = warning = error = critical = write


RENDERERS: Final = (structlog.processors.JSONRenderer(_json_line), _masked)
"""The last processors of every line."""


def _secret_parts(value: str) -> set[str]:
    if "://" not in value:
        return {value}
    try:
        parts = urlsplit(value)
        found = {parts.password, *parse_qs(parts.query).get("password", ())}
        if parts.scheme.startswith("http"):  # a Sentry DSN: its user is its key
            found.add(parts.username)
    except ValueError:
        return {value}
    if match := re.search(
        r"://[^:@/]*:(.*?)@", value
    ):  # also a password that should have been percent-encoded
        found.add(match[1])
    encoded = {each for each in found if each}
    return {value, *encoded, *(unquote(each) for each in encoded)}


def _uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
        return
    log.critical("uncaught", exc_info=error.with_traceback(trace))


def _uncaught_in_thread(caught: threading.ExceptHookArgs) -> None:
    if caught.exc_value is not None:
        log.critical("uncaught", exc_info=caught.exc_value)
