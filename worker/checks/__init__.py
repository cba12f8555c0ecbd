"""Checks: the request of a program as an event with its own ports, and the verdict on it."""
