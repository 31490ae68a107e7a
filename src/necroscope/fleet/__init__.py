"""Many hosts: what they ship, the tables made of it, and the questions over them. See docs/fleet.md."""
