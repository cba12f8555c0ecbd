"""The statements of trials, and decisions made again from what is stored."""
