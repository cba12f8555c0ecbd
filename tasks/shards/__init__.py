"""Several streams of events instead of one: which exist, which holds a conversation, and doubling."""
