"""A file that another program reads: alert rules, a dashboard, a plug-in's configuration."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RuleFile:
    """Its name in a folder, and its whole text."""

    name: str
    text: str
    is_program: bool = False  # to be made executable
