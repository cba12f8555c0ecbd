"""The dashboard and the agreement page: ranges, figures and plots drawn on the server."""
