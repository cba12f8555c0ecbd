"""PEOPLE: the web face of the audit."""
