"""The words of `--against`: what a flame graph is compared with, and the same for machines."""

from __future__ import annotations

import argparse
from typing import Any

from necroscope.cli.times import span
from necroscope.diagnosis.comparison.baseline import Baseline, named_baseline, quiet_baseline
from necroscope.errors import NoSamplesError, UsageError
from necroscope.model.timestamp import iso_utc
from necroscope.profiles.window import Selection, Split
from necroscope.signals.thresholds import Thresholds
from necroscope.store.store import Damage, StoredSegment

NO_QUIET_HINT = "--against T..T compares with any stretch; necroscope timeline shows what is recorded"


def quiet_around(
    segments: list[StoredSegment],
    selection: Selection,
    thresholds: Thresholds,
    damaged: list[Damage],
    split: Split,
) -> Baseline:
    """The quiet seconds around a selection; where there are none, the error says what to write instead."""
    try:
        return quiet_baseline(segments, selection, thresholds, damaged, split)
    except NoSamplesError as error:
        raise NoSamplesError(error.what, hint=NO_QUIET_HINT) from error


def stretch_named(
    words: str, segments: list[StoredSegment], selection: Selection, damaged: list[Damage], split: Split
) -> Baseline:
    """The stretch `T..T`, with the same filters."""
    try:
        begin_ns, end_ns = (moment.utc_ns([segments[-1]]) for moment in span(words))
    except argparse.ArgumentTypeError as error:
        raise UsageError(f"--against: {error}") from error
    return named_baseline(segments, selection, (begin_ns, end_ns), damaged, split)


def baseline_document(baseline: Baseline) -> dict[str, Any]:
    """What was compared with, for machines."""
    found = baseline.window
    ranges = [{"begin": iso_utc(one.begin_ns), "end": iso_utc(one.end_ns)} for one in found.selections]
    return {
        "text": baseline.text,
        "seconds": round(found.seconds, 3),
        "samples": found.samples,
        "idle": found.idle,
        "ranges": ranges,
    }
