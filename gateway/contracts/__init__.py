"""Contracts of other products, thin over checks: each is a request, its checks, and an answer."""
