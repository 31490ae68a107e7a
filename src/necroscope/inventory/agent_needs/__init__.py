"""Whether what an agent needs is there."""
