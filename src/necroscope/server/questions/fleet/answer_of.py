"""A noun of the fleet as the page gets it: what JSON cannot say is null."""

from __future__ import annotations

import math
from dataclasses import fields
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeVar

from necroscope.server.questions.fleet.fleet_answers import Interval

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")


def answer_of(kind: type[T], noun: Any, **other: Any) -> T:
    """Return an answer with the fields of a noun that have the same names; `other` are those that differ."""
    same = (field.name for field in fields(kind) if field.name not in other)
    return kind(**{name: plain(getattr(noun, name)) for name in same}, **other)


def plain(value: Any) -> Any:
    """Return a value as JSON has it: no infinite numbers, intervals by their ends, words for enums."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, tuple):
        ends = [plain(one) for one in value]
        is_interval = len(value) == 2 and all(isinstance(one, int | float) for one in value)
        return Interval(*ends) if is_interval else ends
    return value
