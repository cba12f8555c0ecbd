"""The engine: what should happen to one event, and why."""
