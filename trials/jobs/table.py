"""The background jobs of trials."""

from __future__ import annotations

from typing import Final

from features.jobs import Process, endless, task

JOBS: Final = (
    task("rollouts", 15.0, "returns rollouts whose candidate left its bounds"),
    endless(Process.BEAT, "shadows", "trials.jobs.shadow_watch:run_shadows", "decides again for shadows"),
    endless(Process.REVIEW, "suggestions", "trials.jobs.suggesting:run_suggesting", "makes suggestions"),
)
