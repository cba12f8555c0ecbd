"""Learning from decisions: recordings, and settings that are not in force."""
