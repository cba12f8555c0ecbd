"""Rules and settings of an account: read from forms, tried out, compared."""
