"""Values that people type: numbers, times and durations."""
