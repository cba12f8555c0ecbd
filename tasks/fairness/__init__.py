"""How accounts share a worker: reading ahead, places kept free, and events that wait for moderation."""
