"""Lanes: one ordered queue for each conversation, and the engine that runs them."""
