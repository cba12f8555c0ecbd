"""One process: logs, error reports, garbage collection and its heartbeat files."""
