"""The background jobs of compliance."""

from __future__ import annotations

from typing import Final

from features.jobs import task

JOBS: Final = (
    task("appeals", 30.0, "reports outcomes of appeals that can no longer be undone"),
    task("erasures", 10.0, "counts what requested erasures are about, and runs the confirmed ones"),
)
