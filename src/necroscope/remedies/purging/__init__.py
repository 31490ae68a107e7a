"""What purging needs to know: how many zombies there are, what holds them, when freeing has ended."""
