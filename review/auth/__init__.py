"""Signing in: passwords, sessions, OpenID Connect, API tokens, profile."""
