"""Decisions made again from recordings."""
