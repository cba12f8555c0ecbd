"""Webhooks by the specification Standard Webhooks 1.0.0: types, signatures, addresses, schedule."""
