"""``hushgate review`` as a process of its own, as it is deployed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from cli.deployment.loopback import free_address, status
from tests.support.running import eventually

FRESH_FIGURES: Final = """
from cli.main import main
from review.figures import reused

reused.REUSE_S = 0.0
main()
"""
"""The command line, with figures that are counted for each request."""


@contextmanager
def serving(database_url: str, redis_url: str, log: Path, **environment: str) -> Iterator[str]:
    """Serve the pages of a database; the address they are at. ``environment`` adds to their settings."""
    url = free_address()
    known = {"DATABASE_URL": database_url, "REDIS_URL": redis_url, "HUSHGATE_REVIEW_URL": url}
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-c", FRESH_FIGURES, "review"],
            env=os.environ | known | environment,
            stdout=output,
            stderr=output,
        )
    try:
        eventually(lambda: process.poll() is not None or status(f"{url}/healthz") == 200, "the review pages")
        assert process.poll() is None, log.read_text()
        yield url
    finally:
        process.terminate()
        process.wait(20)
