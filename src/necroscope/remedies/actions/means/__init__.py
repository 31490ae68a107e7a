"""What several kinds of change need: names on disk, and systemd."""
