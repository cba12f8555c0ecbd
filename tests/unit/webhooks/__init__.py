"""Unit tests of webhooks."""
