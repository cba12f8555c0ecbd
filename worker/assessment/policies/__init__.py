"""The policies: what each is configured with and how it assesses a draft."""
