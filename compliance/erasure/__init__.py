"""Requests to erase an author, a conversation or an account, their receipts, and legal holds."""
