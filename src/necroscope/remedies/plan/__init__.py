"""From what was found to a plan: one file a remedy, and whether a plan still fits."""
