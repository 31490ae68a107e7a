"""The page: a small server that only reads."""
