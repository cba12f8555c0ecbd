"""The programs of examples/channels as processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
SLACK_SECRET: Final = "8f742231b10e8888abcd99yyyzzz85a5"
INBOX: Final = {
    "CHANNEL": "slack",
    "ACCOUNT": "shop",
    "OWN_ID": "U0BOT",
    "PEOPLE": "U0LEE,U0KIM",
    "SIGNING_SECRET": SLACK_SECRET,
    "TOKEN": "xoxb-test",
    "LISTEN": "127.0.0.1:0",
    "LEASE_S": "0.3",
}


@contextmanager
def channel_program(name: str, *arguments: str, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """A program as it stands, with the environment of a shop's Slack where the test names no other."""
    process = subprocess.Popen(
        [sys.executable, "-m", f"examples.channels.{name}", *arguments],
        cwd=ROOT,
        env={**os.environ, **INBOX, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()
