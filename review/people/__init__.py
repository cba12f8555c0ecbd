"""Who somebody is: passwords, waits, sessions, keys, and what administrators may grant."""
