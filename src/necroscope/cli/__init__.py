"""One file per verb; `main` parses, prints and exits, and nothing else does."""
