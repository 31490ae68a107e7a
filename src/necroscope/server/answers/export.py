"""A tree of stacks as a file for another tool."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """What is saved, under a name that every file system takes: letters, digits, `.`, `_` and `-`."""

    name: str
    media_type: str
    content: bytes
