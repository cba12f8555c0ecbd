"""``hushgate perspective``: recorded scores of Perspective API beside rules and moderation."""
