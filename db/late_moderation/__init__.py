"""Texts that passed without moderation, until moderation has read the texts after all."""
