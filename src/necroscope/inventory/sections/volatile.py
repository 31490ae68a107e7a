"""What moves without a change of the host: `rules/volatile.toml`, and how a number is rounded."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

LONGEST = 18  # digits: longer numbers stand for "no limit"


@cache
def volatile_rules() -> Mapping[str, Any]:
    """The rules by section."""
    return tomllib.loads(files("necroscope.inventory").joinpath("rules/volatile.toml").read_text())


def rounded(number: str) -> str:
    """~190000 for 192699: two digits. What is no number or has only two stays."""
    if not number.isdigit() or not 2 < len(number) <= LONGEST:
        return number
    unit = 10 ** (len(number) - 2)
    return f"~{(int(number) + unit // 2) // unit * unit}"
