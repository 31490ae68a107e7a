"""Where recordings are kept unless somebody says otherwise."""

from __future__ import annotations

import os
from pathlib import Path


def default_store() -> Path:
    """/var/lib/necroscope for root, else a folder of the user's own."""
    if os.geteuid() == 0:
        return Path("/var/lib/necroscope")
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state"
    return Path(state) / "necroscope"
