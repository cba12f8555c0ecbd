"""Pages on which an account learns from its decisions: candidates, backtests and what follows."""
