"""Commands that try changes on decisions: candidates, replay, backtest, shadows, rollouts, golden sets."""

from __future__ import annotations

from typing import Final

COMMANDS: Final = {
    "candidates": "trials.commands.candidates:app",
    "replay": "trials.commands.replay:replay",
    "backtest": "trials.commands.backtest:backtest",
    "errors": "trials.commands.errors:errors",
    "calibration": "trials.commands.calibration:calibration",
    "suggestions": "trials.commands.suggestions:suggestions",
    "shadow": "trials.commands.shadow:app",
    "rollouts": "trials.commands.rollouts:app",
    "golden": "trials.commands.golden:app",
    "eval": "trials.commands.evaluate:evaluate",
}
