"""A program's own bot asks Hushgate before it answers."""
