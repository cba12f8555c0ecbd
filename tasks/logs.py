"""One JSON object a line on stderr; ids, never user text, at info and above."""

from __future__ import annotations

import logging
import sys
import traceback
from typing import Any

import structlog
from structlog.typing import EventDict, WrappedLogger


def configure(level: str) -> None:
    """Send structlog and the standard library's loggers through one JSON renderer."""
    shared: tuple[Any, ...] = (
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        bare_exception,
    )
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level)
    for noisy in ("httpx2", "httpcore2", "openai", "aiohttp", "psycopg.pool"):
        logging.getLogger(noisy).setLevel(logging.WARNING)


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
