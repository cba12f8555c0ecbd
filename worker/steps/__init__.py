"""The pipeline's steps: with ``worker.pipeline`` the only callers of ports."""
