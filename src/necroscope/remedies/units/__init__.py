"""What remedies of units share."""
