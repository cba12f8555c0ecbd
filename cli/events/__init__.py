"""Commands on events and payloads: publish them, explain them, replay dead letters."""
