"""Connecting model servers in the browser."""
