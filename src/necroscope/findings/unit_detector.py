"""How a detector that judges the units of a machine or an image is declared."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from necroscope.model.finding import Finding
from necroscope.model.inventory import Inventory

LookAtUnits = Callable[[Inventory], Iterator[Finding]]


@dataclass(frozen=True, slots=True)
class UnitDetector:
    """One kind of trouble with units: its public name, and the function that looks at an inventory."""

    id: str
    look: LookAtUnits

    @property
    def doc(self) -> str:
        """The manual page that `explain` prints."""
        return inspect.getdoc(self.look) or ""


def unit_detector(id: str) -> Callable[[LookAtUnits], UnitDetector]:
    """Declare a function as a detector. Its docstring is its manual page."""
    return lambda look: UnitDetector(id, look)
