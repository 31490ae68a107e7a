"""The questions about a fleet, one file each: what to gather, and what to conclude from it."""
