"""What is on disk about a fix."""
