"""What only people may do."""
