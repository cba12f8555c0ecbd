"""The streams that Hushgate writes and others read: figures, deletion of read entries, alarm."""
