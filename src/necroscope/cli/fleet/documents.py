"""Answers about a fleet as JSON: names that can be read, times in UTC, and no number without end."""

from __future__ import annotations

import enum
import math
from dataclasses import fields, is_dataclass
from typing import Any

from necroscope.model.timestamp import iso_utc

ENDING = "_us"


def document_of(noun: Any) -> Any:
    """A noun and all in it: infinite and undefined numbers become null, `begin_us` becomes `begin`."""
    if is_dataclass(noun) and not isinstance(noun, type):
        return dict(_field(field.name, getattr(noun, field.name)) for field in fields(noun))
    if isinstance(noun, enum.Enum):
        return noun.value
    if isinstance(noun, float):
        return noun if math.isfinite(noun) else None
    if isinstance(noun, tuple | list):
        return [document_of(one) for one in noun]
    if isinstance(noun, dict):
        return {name: document_of(value) for name, value in noun.items()}
    return noun


def _field(name: str, value: Any) -> tuple[str, Any]:
    if name.endswith(ENDING) and (value is None or isinstance(value, int)):
        return name.removesuffix(ENDING), None if value is None else iso_utc(value * 1000)
    return name, document_of(value)
