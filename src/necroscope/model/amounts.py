"""Times, sizes and numbers as a person would write them."""

from __future__ import annotations

from collections.abc import Sequence

TIMES = (("year", 365 * 86400.0, "years"), ("day", 86400.0, "days"), ("h", 3600.0, "h"), ("min", 60.0, "min"))
SIZES = ("bytes", "KiB", "MiB", "GiB", "TiB")


def time_text(seconds: float) -> str:
    """A time with the precision that one plans with: 45 s, 8 min, 2.5 h, 8.5 days."""
    for one, length, many in TIMES:
        if seconds >= 2 * length:
            amount = f"{seconds / length:.1f}".removesuffix(".0") if seconds < 20 * length else ""
            amount = amount or f"{seconds / length:,.0f}"
            return f"{amount} {one if amount == '1' else many}"
    return f"{seconds:,.0f} s" if seconds >= 1 or not seconds else f"{seconds:.2g} s"


def bytes_text(count: float) -> str:
    """A size: 512 bytes, 120.0 MiB."""
    for unit in SIZES:
        if count < 1024 or unit == SIZES[-1]:
            break
        count /= 1024
    return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:,.1f} {unit}"


def amount_text(value: float) -> str:
    """A number with about three digits."""
    if abs(value) >= 100 or value == round(value):
        return f"{value:,.0f}"
    return f"{value:.3g}"


def listed(names: Sequence[str]) -> str:
    """One, two and three."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
