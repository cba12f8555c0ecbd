"""``python -m bench.overload`` with tiny numbers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path


def test_overload_is_measured(tmp_path: Path) -> None:
    """Every message has one of the endings of the report, and the load becomes normal."""
    out = tmp_path / "overload.json"
    options = "--minutes 0.05 --places 4 --completion-s 0.2 --max-age-s 4 --policy newest_first --out"
    command = [sys.executable, "-m", "bench.overload", *options.split(), str(out)]
    ended = subprocess.run(command, check=False, capture_output=True, text=True)

    assert ended.returncode == 0, ended.stdout + ended.stderr
    (found,) = json.loads(out.read_text())["results"]
    assert found["published"] == found["answered"] + found["too_late"] + found["shed"] > 0
    assert found["answered"] == found["chats"] + found["comments"] > 0
    assert found["backlog"] > 0
