"""The commits of several events in one statement."""
