"""Which difference between hosts matters, and what is behind it."""
