"""Suggestions of each account: the material that they are computed from, and the table that holds them."""
