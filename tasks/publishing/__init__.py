"""Publishing events: the stream's only writer of ours."""
