"""Redis in a backup: the events that wait, the outgoing streams and their marks."""
