"""A store with a real incident, recorded once: see tests/web/incident/README.md."""

from __future__ import annotations

import subprocess
from pathlib import Path

from necroscope.store.store import Store
from necroscope.store.stored_events import StoredEvent, find_event

RECORDED = Path(__file__).with_name("incident") / "store.tar.xz"


def incident_store(folder: Path) -> Path:
    """Unpack the incident into a folder, and return its store."""
    subprocess.run(["tar", "-C", folder, "-xJf", RECORDED], check=True)
    return folder / "store"


def event_named(store: Path, id: str) -> StoredEvent:
    """Return an event of a store by its id."""
    return find_event(Store(store).segments(), id)
