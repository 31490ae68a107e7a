"""What systemd is told by files, and what it says itself."""
