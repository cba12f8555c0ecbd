"""What tables, streams, logs and processes show of a run."""
