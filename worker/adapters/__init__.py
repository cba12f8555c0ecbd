"""The only files that know a vendor."""
