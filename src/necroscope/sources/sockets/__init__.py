"""Whose sockets these are, and who is at their other ends."""
