"""What is answered where a question has no answer."""

from __future__ import annotations

from dataclasses import dataclass


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
