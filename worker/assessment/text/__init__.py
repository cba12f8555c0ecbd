"""Words, numbers, languages and citations of a text."""
