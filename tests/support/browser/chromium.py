"""The Chromium of this machine, and how it is started: nothing is downloaded, nothing leaves the machine."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import pytest
from playwright.sync_api import Browser, sync_playwright

NAMES: Final = (
    "chromium-headless-shell",  # draws no windows: half the CPU
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
)
FLAGS: Final = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
    "--no-sandbox",  # it does not start as root otherwise; it opens our own pages only
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
MISSING: Final = (
    "no Chromium: the browser tests need one. As root `make test` installs it; else install the package"
    " chromium (Debian, Ubuntu: apt-get install chromium), or set HUSHGATE_CHROMIUM to a Chrome or Chromium"
)


def path() -> str:
    """Where Chromium is; a test that needs one fails without it, it is never left out."""
    named = os.environ.get("HUSHGATE_CHROMIUM")
    for name in (named,) if named else NAMES:
        if (found := shutil.which(name)) is not None:
            return found
    pytest.fail(MISSING if named is None else f"HUSHGATE_CHROMIUM: no program at {named}", pytrace=False)


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser with an empty profile of its own."""
    found = path()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=list(FLAGS), timeout=60_000)
        try:
            yield browser
        finally:
            browser.close()
