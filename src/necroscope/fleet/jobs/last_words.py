"""The end of what a job said, fit to be kept: without colours, without what Ray's own daemons said, without
secrets, and short.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from necroscope.inventory.redaction.door import redact_text

COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
# "    [2026-11-18 02:22:40,929 I 27489 27489] (raylet) node_manager.cc:621: ...": the daemons' own log, which
# Ray prints to a job when a raylet ends. It is full of connections that ended, of other jobs too.
DAEMON_LINE = re.compile(
    r"^\s*\[\d{4}-\d\d-\d\d [\d:,]+ [A-Z] \d+ \d+\] \((?:raylet|gcs_server|core_worker)\)"
)
# By its name it would be a key, and what follows a secret; the stand-in is a character that nobody writes.
KEY_ERROR, STAND_IN = "KeyError: ", "\ue000"
LONGEST_CHARACTERS = 4_000
LONGEST_LINE = 1_000
MOST_READ_CHARACTERS = 200_000


def last_words(said: str, task_errors: Sequence[str] = ()) -> str:
    """The last lines of what a job said; how its tasks failed stands before them."""
    lines = COLOUR.sub("", said[-MOST_READ_CHARACTERS:].replace("\0", "")).splitlines()
    kept = [line.rstrip()[:LONGEST_LINE] for line in lines if line.strip() and not DAEMON_LINE.match(line)]
    text = "\n".join(kept)[-LONGEST_CHARACTERS:]
    words = "\n".join([*task_errors, text] if text else task_errors)
    redacted = redact_text(words.replace(KEY_ERROR, STAND_IN)).replace(STAND_IN, KEY_ERROR)
    return redacted.encode(errors="replace").decode()
