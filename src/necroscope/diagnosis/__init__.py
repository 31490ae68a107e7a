"""Why it happened: culprits, links, chains."""
