"""What is answered where a question has no answer, in words that do not say where things lie on this machine.

Who may look at the page may see recordings, and has no business with the folders they are in. The server's
own log and the command line name them.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

HIDDEN = "(a path of the server)"
# An absolute path; not the end of an address or of two words with a slash between, and not our own /api/...
_PATH = re.compile(
    r"(?:file://|(?<![\w./~)-])(?<!https:)(?<!http:)(?<!s3:))/(?!api/|/)[^\s:;,'\"`()]*[^\s:;,'\"`().]"
)


@dataclass(frozen=True, slots=True)
class Failure:
    """What went wrong; the slug is a heading in docs/messages.md."""

    slug: str
    what: str
    hint: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The body of every answer that is not a success."""

    error: Failure


def failed_json(slug: str, what: str, hint: str) -> bytes:
    """Return the body of an answer that is not a success."""
    return json.dumps(asdict(Failed(Failure(slug, what, hint)))).encode()


def without_paths(text: str, roots: Iterable[Path] = ()) -> str:
    """Return the text without absolute paths; what lies below one of the roots is named as from there."""
    for root in sorted(_spellings(roots), key=len, reverse=True):
        text = text.replace(f"{root}/", "").replace(root, HIDDEN)
    return _PATH.sub(HIDDEN, text)


def folder_of(address: str) -> tuple[Path, ...]:
    """Return the folder that the address of a fleet's place means; none if it is elsewhere, or empty."""
    scheme, separator, rest = address.partition("://")
    if separator and scheme != "file":
        return ()
    return (Path(rest or address),) if address else ()


def _spellings(roots: Iterable[Path]) -> set[str]:
    """How errors may write the roots; one that is not absolute says nothing about the machine."""
    spellings = {one for root in roots for one in (str(root.absolute()), os.path.realpath(root))}
    return spellings - {os.sep}
