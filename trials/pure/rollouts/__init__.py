"""Settings that decide for a share of the conversations, the bounds they must keep, and what they changed."""
