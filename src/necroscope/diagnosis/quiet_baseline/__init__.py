"""A window against quiet seconds: which they are, and what is chance."""
