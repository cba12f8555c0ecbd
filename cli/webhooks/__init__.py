"""``hushgate webhooks``."""
