"""What a host is made of, in a form that two hosts can be compared by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

MAX_SECTIONS = 100  # that a host may have: we know about 20


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All facts about one host. Taken twice without a change between, it is the same."""

    host: str  # its name: who it is, not what it is made of, and never a difference
    facts: Mapping[str, Mapping[str, str]]  # section -> name -> value; secrets have been taken out
    not_read: Mapping[str, str]  # section -> why there is nothing, or not all, of it
