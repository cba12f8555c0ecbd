"""Retention: the sweep that deletes old rows in small steps."""
