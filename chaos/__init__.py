"""Faults against real servers and processes, and an oracle that needs nothing of the product."""
