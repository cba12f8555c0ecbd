"""The dashboard and agreement: ranges, figures, and pictures drawn on the server."""
