"""What we are called in a cluster. Conditions of our domain are ours, and no other's are."""

from __future__ import annotations

DOMAIN = "necroscope.dev"
COMPONENT = f"{DOMAIN}/recorder"  # who reports an event
FIELD_MANAGER = "necroscope"
