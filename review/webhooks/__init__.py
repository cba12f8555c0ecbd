"""Webhooks of an account: endpoints and deliveries."""
