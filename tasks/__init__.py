"""Celery and Redis: when the engine runs, how often, and what happens when it fails."""
