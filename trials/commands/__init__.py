"""Commands that try changes on decisions: candidates, replay, backtest, shadows, rollouts, golden sets."""

from __future__ import annotations

from typing import Final

COMMANDS: Final = {
    "trials candidates": "trials.commands.candidates:app",
    "trials replay": "trials.commands.replay:replay",
    "trials backtest": "trials.commands.backtest:backtest",
    "trials errors": "trials.commands.errors:errors",
    "trials calibration": "trials.commands.calibration:calibration",
    "trials suggestions": "trials.commands.suggestions:suggestions",
    "trials shadow": "trials.commands.shadow:app",
    "trials rollouts": "trials.commands.rollouts:app",
    "trials golden": "trials.commands.golden:app",
    "trials eval": "trials.commands.evaluate:evaluate",
}
"""Two words: the group and its command."""
GROUPS: Final = {
    "trials": "Try changed settings (`candidates`) before they are in force: on past decisions (`replay`,"
    " `backtest`), on a golden set (`golden`, `eval`), on every new decision (`shadow`) or on a share of the"
    " conversations (`rollouts`). Reviews give `errors`, `calibration` and `suggestions`."
}
