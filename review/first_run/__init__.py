"""The first steps of a new installation: model test, test message, sample data."""
