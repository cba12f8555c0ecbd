"""Webhooks: bodies of events, and the poller that sends them."""
