"""What a flame graph is compared with: the quiet seconds around it, or a stretch that somebody names.

Quiet are the seconds that `culprit` compares with: on the same cores, at most ten minutes before or after,
120 at most, without those of events and of saturated cores.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from necroscope.cli.culprit import AROUND_NS
from necroscope.cli.damaged import spare
from necroscope.cli.times import span
from necroscope.diagnosis.comparison.quiet_seconds import quiet_seconds
from necroscope.errors import NoSamplesError, UsageError
from necroscope.findings.thresholds import Thresholds
from necroscope.profiles.flame import Flame
from necroscope.profiles.tally import SECOND_NS, tally
from necroscope.profiles.window import Selection, Split, Window, require_samples, touched, windows
from necroscope.recording.clock import Anchor
from necroscope.recording.store import Damage, StoredSegment
from necroscope.recording.stored_events import events_between

UTC = Anchor(0, 0)
MOST_TOLD = 3  # stretches that a title names one by one
NO_QUIET = "no quiet second is recorded within ten minutes of it"
NO_QUIET_HINT = "--against T..T compares with any stretch; necroscope timeline shows what is recorded"


@dataclass(frozen=True, slots=True)
class Baseline:
    """The samples to compare with, and what they are, for a title."""

    window: Window
    text: str

    @property
    def document(self) -> dict[str, Any]:
        """The same for machines."""
        ranges = [
            {"begin": UTC.iso(one.begin_ns), "end": UTC.iso(one.end_ns)} for one in self.window.selections
        ]
        return {
            "text": self.text,
            "seconds": round(self.window.seconds, 3),
            "samples": self.window.samples,
            "idle": self.window.idle,
            "ranges": ranges,
        }


def quiet_baseline(
    segments: list[StoredSegment],
    selection: Selection,
    thresholds: Thresholds,
    damaged: list[Damage],
    split: Split = "comm",
) -> Baseline:
    """The quiet seconds around a selection, on its cores. NoSamplesError: there are none."""
    wide = replace(selection, begin_ns=selection.begin_ns - AROUND_NS, end_ns=selection.end_ns + AROUND_NS)
    parts, left = spare(
        lambda some: _quiet_parts(some, selection, thresholds, damaged), segments, wide, damaged
    )
    if not parts:
        raise NoSamplesError(NO_QUIET, hint=NO_QUIET_HINT)
    found, _ = spare(lambda some: windows(some, parts, split), left, wide, damaged)
    return Baseline(found, _quiet_text(parts, selection))


def named_baseline(
    words: str, segments: list[StoredSegment], selection: Selection, damaged: list[Damage], split: Split
) -> Baseline:
    """The stretch `T..T`, with the same filters. NoSamplesError: nothing of it is recorded."""
    try:
        begin_ns, end_ns = (moment.utc_ns([segments[-1]]) for moment in span(words))
    except argparse.ArgumentTypeError as error:
        raise UsageError(f"--against: {error}") from error
    part = replace(selection, begin_ns=begin_ns, end_ns=end_ns, boot_id="", offset_ns=0)
    found, left = spare(lambda some: windows(some, (part,), split), segments, part, damaged)
    if not found.seconds:
        require_samples(found, left)
    return Baseline(found, f"{part.seconds:.3g} s until {UTC.iso(part.end_ns)}")


def difference_notes(tree: Flame, found: Window, baseline: Baseline) -> tuple[str, ...]:
    """How to read a difference."""
    other = baseline.window
    rates = sorted(found.rates | other.rates)
    unlike = f"sampled at {' and '.join(map(str, rates))} Hz: by so much the sides differ without any change"
    time = "the time" if any(one.idle for one in other.selections) else "the busy time"
    busier = "here" if tree.is_busier else "there"
    return (
        f"against {other.samples:,} samples in {other.seconds:.3g} s there",
        f"compared by samples a second: 100 % is {time} {busier}, where it is more",
        "red: more here than there",
        *([unlike] if len(rates) > 1 else []),
    )


def _quiet_parts(
    segments: Sequence[StoredSegment], selection: Selection, thresholds: Thresholds, damaged: list[Damage]
) -> list[Selection]:
    near = touched(segments, selection)
    if not near:
        return []
    first = near[0]
    own = [s for s in segments if s.boot_id == first.boot_id] if first.boot_id else near
    around = selection.begin_ns - AROUND_NS, selection.end_ns + AROUND_NS
    stored = events_between(segments, *around, damaged)
    events = [one.event for one in stored if one.segment.boot_id == first.boot_id]
    here = selection.range_in(first)
    starts = _captured(own, quiet_seconds(own, [here], events, selection.cpus, thresholds))
    offset_ns = selection.begin_ns - here[0]
    whole = replace(selection, boot_id=first.boot_id, offset_ns=offset_ns)
    return [
        replace(whole, begin_ns=begin_ns + offset_ns, end_ns=end_ns + offset_ns)
        for begin_ns, end_ns in _stretches(starts)
    ]


def _captured(segments: Sequence[StoredSegment], starts: Sequence[int]) -> list[int]:
    """Seconds with samples on any core: where there are none, nobody looked."""
    if not starts:
        return []
    counted = tally(segments, starts, ())
    return [start for start, samples in zip(counted.starts_ns, counted.everywhere, strict=True) if samples]


def _stretches(starts: Sequence[int]) -> list[tuple[int, int]]:
    """Seconds that follow each other, as one."""
    found: list[tuple[int, int]] = []
    for start in starts:
        begin_ns = found.pop()[0] if found and found[-1][1] == start else start
        found.append((begin_ns, start + SECOND_NS))
    return found


def _quiet_text(parts: Sequence[Selection], selection: Selection) -> str:
    count = round(sum(part.seconds for part in parts))
    what = f"{count} quiet second{'s' if count > 1 else ''}"
    day = UTC.iso(selection.begin_ns)[:10]
    if len(parts) > MOST_TOLD:
        ends = _clock(parts[0].begin_ns, day), _clock(parts[-1].end_ns, day)
        return f"{what} in {len(parts)} stretches from {ends[0]} to {ends[1]}"
    told = [f"{_clock(part.begin_ns, day)} to {_clock(part.end_ns, day)}" for part in parts]
    return f"{what}, {' and '.join(filter(None, (', '.join(told[:-1]), told[-1])))}"


def _clock(utc_ns: int, day: str) -> str:
    """To the second, without the day that the title has."""
    text = UTC.iso(utc_ns)
    return text[11:19] if text.startswith(day) else f"{text[:19]}Z"
