"""What a machine runs without needing it, and why two hosts differ."""
