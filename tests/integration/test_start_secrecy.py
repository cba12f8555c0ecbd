"""What a process says when its secrets are there but wrong."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from psycopg_pool import PoolTimeout

from db.pool import create_pool
from tasks.process import logs

ROOT: Final = Path(__file__).resolve().parents[2]
PASSWORD: Final = "zqxdbpass"
GOOD: Final = {
    "DATABASE_URL": "postgresql://nobody@localhost/none",
    "REDIS_URL": "redis://localhost:1/0",
    "OPENAI_API_KEY": "zqxmoderationkey",
    "OPENROUTER_API_KEY": "zqxmodelkey",
}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DATABASE_URL", f"mysql://user:{PASSWORD}@host/database"),
        ("REDIS_URL", f"http://user:{PASSWORD}@host"),
        ("OPENAI_BASE_URL", "not a URL"),
    ],
)
def test_refused_settings_are_not_quoted(name: str, value: str) -> None:
    """A worker that cannot start says which variable is wrong, and no traceback quotes its secrets."""
    done = subprocess.run(
        [sys.executable, "-m", "celery", "-A", "tasks.app", "worker"],
        env={**os.environ, **GOOD, name: value},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode != 0
    assert name in done.stderr
    assert "zqx" not in done.stderr + done.stdout


@pytest.mark.usefixtures("restored_logging")
@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://user:{PASSWORD}@localhost:1/none",
        f"postgresql://user:{PASSWORD} {PASSWORD}@localhost:port/none",
        f"postgresql://user:{PASSWORD}%zz@localhost/none",
        f"postgresql://user:{PASSWORD}@localhost/none?no_such_option={PASSWORD}",
    ],
)
async def test_refused_connection_is_not_quoted(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Libpq quotes what it cannot read of a URL; the pool's warning leaves that out."""
    logs.configure("INFO")
    source = create_pool(url, size=2, application="test")
    with contextlib.suppress(PoolTimeout):
        await source.open(wait=True, timeout=0.5)
    await source.close()
    said = capsys.readouterr().err

    assert "error connecting" in said
    assert PASSWORD not in said
