"""Servers, processes and links of one run, and who uses them."""
