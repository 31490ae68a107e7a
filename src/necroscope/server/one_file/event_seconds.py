"""What the page shows of an event or of a link in a diagnosis: the ranges that a click asks for.

They are those of web/src/views: overview/moment_links.ts, moment/spans.ts and diagnosis/moment_links.ts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from necroscope.model.timestamp import SECOND_US
from necroscope.server.questions.events import RecordedEvent
from necroscope.server.questions.explained import Explained
from necroscope.server.questions.selection import Filters, Range

BEFORE_US = 5 * SECOND_US
AROUND_US = 30 * SECOND_US
MINUTE_BEFORE_US, MINUTE_US = 45 * SECOND_US, 60 * SECOND_US
FINE_US = 120 * SECOND_US  # on both sides, second by second
LONGEST_LINK_US = 600 * SECOND_US


@dataclass(frozen=True, slots=True)
class EventSeconds:
    """Chosen seconds on some cores, what is shown around them, and what second by second."""

    chosen: Range
    shown: tuple[Range, ...]
    fine: Range | None
    filters: Filters

    def within(self, span: Range) -> EventSeconds:
        """The same without seconds of cores beyond a range: nothing finer reaches farther than the whole."""
        if self.fine is None:
            return self
        begin_us, end_us = max(self.fine.begin_us, span.begin_us), min(self.fine.end_us, span.end_us)
        return replace(self, fine=Range(span.host, begin_us, end_us) if begin_us < end_us else None)


def event_seconds(host: str, event: RecordedEvent) -> EventSeconds:
    """The seconds before an event, on its core where it names one."""
    time_us = event.time_us
    middle_us = _floor(time_us)
    overview = Range(host, max(middle_us - AROUND_US, 0), middle_us + AROUND_US)
    chosen = Range(host, time_us - BEFORE_US, time_us)
    shown = (overview, minute_around(host, time_us), _around(chosen))
    return EventSeconds(chosen, shown, fine_around(chosen), _on(event.core))


def explained_seconds(host: str, explained: Explained) -> list[EventSeconds]:
    """The seconds that a diagnosis links to, each once."""
    spans = dict.fromkeys(span for span in _links(explained) if 0 < span[1] - span[0] <= LONGEST_LINK_US)
    ranges = [Range(host, *span) for span in spans]
    filters = _on(explained.core)
    return [EventSeconds(chosen, (_around(chosen),), fine_around(chosen), filters) for chosen in ranges]


def minute_around(host: str, time_us: int) -> Range:
    """The minute that holds a moment, mostly of what came before it."""
    begin_us = _floor(time_us - MINUTE_BEFORE_US)
    return Range(host, begin_us, begin_us + MINUTE_US)


def fine_around(chosen: Range) -> Range:
    """Two minutes more on both sides."""
    return Range(chosen.host, _floor(chosen.begin_us - FINE_US), _ceiling(chosen.end_us + FINE_US))


def _links(explained: Explained) -> Iterator[tuple[int, int]]:
    moment = explained.moment_begin_us, explained.moment_end_us
    evidence = [row.moment_us for link in explained.chain for row in link.evidence]
    for begin_us, end_us in (moment, *((link.begin_us, link.end_us) for link in explained.chain)):
        if begin_us is not None and end_us is not None:
            yield begin_us, max(end_us, begin_us + SECOND_US)
    yield from ((time_us - BEFORE_US, time_us) for time_us in evidence if time_us is not None)


def _around(chosen: Range) -> Range:
    return Range(chosen.host, _floor(chosen.begin_us - AROUND_US), _ceiling(chosen.end_us + AROUND_US))


def _on(core: int | None) -> Filters:
    return Filters(cpus=() if core is None else (core,))


def _floor(time_us: int) -> int:
    return max(time_us // SECOND_US * SECOND_US, 0)


def _ceiling(time_us: int) -> int:
    return -(-time_us // SECOND_US) * SECOND_US
