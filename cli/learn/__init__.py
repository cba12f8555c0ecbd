"""Commands to learn from decisions: candidates, replays and backtests."""
