"""People who sign in: roles, sessions, sign-ins, API tokens."""
