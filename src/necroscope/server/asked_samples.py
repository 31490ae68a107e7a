"""Which samples a question is about, and what is said where there are none."""

from __future__ import annotations

from collections.abc import Sequence

from necroscope.errors import NoSamplesError
from necroscope.profiles.search import Search
from necroscope.profiles.window import Selection, Window, require_samples, touched
from necroscope.server.range_and_filters import Filters, Range
from necroscope.store.store import StoredSegment

LONGEST_SECONDS = 7200  # of samples that one question may count


def asked_selection(span: Range, filters: Filters) -> Selection:
    """The range and the filters as a selection."""
    search = Search(filters.search, filters.regexp, filters.only_matching) if filters.search else None
    return Selection(
        span.time.begin_ns,
        span.time.end_ns,
        cpus=filters.cpus,
        processes=filters.processes,
        threads=filters.threads,
        events=filters.events,
        idle=filters.idle,
        search=search,
    )


def require_some(found: Window, segments: Sequence[StoredSegment]) -> None:
    """NoSamplesError in the words of the page, where there is nothing to show."""
    if not found.samples and found.idle:
        raise NoSamplesError("all samples there are of idle cores", hint="show idle cores to count them")
    require_samples(found, segments)


def require_profile(segments: Sequence[StoredSegment], selection: Selection) -> None:
    """NoSamplesError where nobody took samples then: empty cells would say that nothing ran."""
    if touched(segments, selection):
        return
    reasons = (s.description.no_profile for s in segments if selection.touches(s) and not s.has_profile)
    why = next((reason for reason in reasons if reason), "the recorder had no samples then")
    raise NoSamplesError("no samples there", hint=why)
