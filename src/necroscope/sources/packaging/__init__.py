"""What is installed, and which package a file belongs to."""
