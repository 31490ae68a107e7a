"""What a flame graph says about itself: which samples, compared with what, and how to read it."""

from __future__ import annotations

from necroscope.diagnosis.quiet_baseline.baseline import Baseline
from necroscope.model.timestamp import iso_utc
from necroscope.profiles.export.title import Title
from necroscope.profiles.window import SHORTEST_SECONDS, Selection, Window


def describe(selection: Selection, host: str) -> str:
    """A selection in words, for a title."""
    parts = [host, f"{selection.seconds:.3g} s until {iso_utc(selection.end_ns)}"]
    if selection.cpus:
        parts.append(f"core {','.join(map(str, selection.cpus))}")
    for what, names in (
        ("process", selection.processes),
        ("thread", selection.threads),
        ("event", selection.events),
    ):
        if names:
            parts.append(f"{what} {', '.join(names)}")
    if selection.search and selection.search.only_matching:
        parts.append(f"matching {selection.search.text}")
    return ", ".join(parts)


def flame_title(words: str, found: Window, baseline: Baseline | None) -> Title:
    """What a graph shows, and what its shares are of."""
    if baseline:
        notes = difference_notes(found, baseline)
        return Title(f"{words}, against {baseline.text}", notes=(*found.notes, *notes))
    idle = any(one.idle for one in found.selections)
    return Title(words, notes=(*found.notes, f"shares are of {'all samples' if idle else 'busy time'}"))


def difference_notes(found: Window, baseline: Baseline) -> tuple[str, ...]:
    """How to read a difference."""
    other = baseline.window
    rates = sorted(found.rates | other.rates)
    unlike = f"sampled at {' and '.join(map(str, rates))} Hz: by so much the sides differ without any change"
    time = "the time" if any(one.idle for one in other.selections) else "the busy time"
    busier = "here" if _rate(found) >= _rate(other) else "there"
    return (
        f"against {other.samples:,} samples in {other.seconds:.3g} s there",
        f"compared by samples a second: 100 % is {time} {busier}, where it is more",
        "orange: more here than there",
        *([unlike] if len(rates) > 1 else []),
    )


def _rate(found: Window) -> float:
    """Samples a second, by which the two sides are compared."""
    return found.samples / max(found.seconds, SHORTEST_SECONDS)
