"""The decision logic: what should happen to one event, and why."""

__version__ = "0.1.0"
