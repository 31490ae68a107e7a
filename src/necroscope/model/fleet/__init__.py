"""The nouns of the fleet: what a host ships, and what can be said about many hosts."""
