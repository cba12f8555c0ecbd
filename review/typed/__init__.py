"""Values that people type, numbers, times and durations, and what is wrong with them."""
