"""Recordings of what the ports answered for one event, and deciding it again from them."""
