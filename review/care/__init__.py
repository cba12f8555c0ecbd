"""Care for people who read harmful texts: covers, breaks."""
