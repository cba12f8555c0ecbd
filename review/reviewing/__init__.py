"""Saying what one thinks of decisions: the panel, drafts, queues, many at once."""
