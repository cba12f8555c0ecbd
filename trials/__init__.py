"""Trying changes: replay, backtest, shadow, rollout, golden sets, calibration and suggestions."""
