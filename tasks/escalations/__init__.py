"""Escalations on their stream, and the end of those that nothing else closes."""
