"""People and their roles, for administrators."""
