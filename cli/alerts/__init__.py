"""``hushgate alerts``."""
