"""Read the sources second by second, and keep what they said."""
