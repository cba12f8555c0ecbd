"""Documents as text: read by format, cut into chunks, split into search words; pure functions."""
