"""The schema: its baseline and migrations, logins and their rights."""
