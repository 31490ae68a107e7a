"""What a source hands on: a value, or the reason there is none."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

T = TypeVar("T")
U = TypeVar("U")


class Absence(enum.Enum):
    """Why a value is missing. Detectors must treat these differently, and none of them as zero."""

    NOT_SUPPORTED = "not supported by this kernel or machine"
    NOT_PERMITTED = "not permitted"
    SWITCHED_OFF = "switched off"
    BROKEN = "unreadable"


@dataclass(frozen=True, slots=True)
class Reading(Generic[T]):
    """One source at one instant. Exactly one of `value` and `absence` is set."""

    value: T | None = None
    absence: Absence | None = None
    detail: str = ""

    def parsed(self, parse: Callable[[T], U]) -> Reading[U]:
        """The reading of what `parse` makes of the value; text it cannot understand is BROKEN."""
        if self.value is None:
            return self.without_value()
        try:
            return Reading(parse(self.value), detail=self.detail)
        except KeyError as error:
            what = f"no {error}"
        except (ValueError, IndexError) as error:
            what = str(error)
        return Reading(absence=Absence.BROKEN, detail=f"{self.detail}: {what}".removeprefix(": "))

    def without_value(self) -> Reading[Any]:
        """The same absence, as the reading of something that would have been made from this value."""
        return Reading(absence=self.absence, detail=self.detail)

    @property
    def reason(self) -> str:
        """Why there is no value, for a person to read."""
        if self.absence is None:
            return ""
        return f"{self.absence.value}: {self.detail}" if self.detail else self.absence.value
