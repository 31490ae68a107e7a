"""Machines to run something on that this one is not."""
