"""How secrets are kept out of snapshots."""
