"""The dashboard: tiles, plots, shares with goals, changes and costs of a time range."""
