"""Results of runs: as JSON, as tables, of slices together."""
