"""Statistics of reviews and comparisons: shares, sequential intervals, reliability, certified thresholds."""
