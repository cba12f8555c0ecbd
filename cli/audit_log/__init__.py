"""``hushgate audit-log``."""
