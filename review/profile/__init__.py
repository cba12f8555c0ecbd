"""A person's own settings: profile, language, theme."""
