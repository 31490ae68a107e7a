"""What `verify` said of a fix, as it is kept beside it."""

from __future__ import annotations

from dataclasses import dataclass

from necroscope.model.verdict import Verification


@dataclass(frozen=True, slots=True)
class KeptVerdict:
    """An answer, what was asked, and when."""

    at_ns: int  # UTC
    window_seconds: float  # asked for, of the time after the fix
    before_seconds: float | None  # asked for; None: as much as is of use
    verification: Verification
