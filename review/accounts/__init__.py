"""Accounts: rules, documents and settings, with their versions."""
