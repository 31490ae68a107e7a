"""From what was found to a plan, and whether a plan still fits."""
