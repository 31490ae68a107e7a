"""What a running recorder has written since it was last asked."""

from __future__ import annotations

import time

from necroscope.errors import NothingRecordedError
from necroscope.model.timestamp import SECOND_NS
from necroscope.server.answers.live import Live
from necroscope.server.questions.cores import cores_answer
from necroscope.server.questions.events import told_events
from necroscope.server.questions.hosts import is_live
from necroscope.server.questions.newest_seconds import newest_seconds
from necroscope.server.questions.zombies import zombies_answer
from necroscope.server.range_and_filters import US_NS
from necroscope.server.recorded_store import RecordedStore

LONGEST_NS = 300 * SECOND_NS
# Units are looked at every minute, and how long something lasted is told when it is over: such events come
# again, under the same id.
LATE_NS = 120 * SECOND_NS


def ask_live(store: RecordedStore, host: str, since_us: int) -> Live:
    """The whole seconds from `since_us` on; asked with `last_us` of this answer, the next one goes on."""
    segments = [segment for segment in store.segments_of(host) if segment.boot_id]
    if not segments:
        raise NothingRecordedError("there are imported captures of this host only")
    now_ns, newest_ns = time.time_ns(), max(segment.end_ns for segment in segments)
    last_ns = newest_ns - newest_ns % SECOND_NS
    first_ns = min(segment.begin_ns for segment in segments)
    begin_ns = max(since_us * US_NS, last_ns - LONGEST_NS, first_ns)
    begin_ns -= begin_ns % SECOND_NS
    lives = is_live(segments, now_ns)
    seconds = newest_seconds(store, segments, min(begin_ns, last_ns), last_ns)
    has_new = begin_ns < last_ns
    return Live(
        now_us=now_ns // US_NS,
        last_us=last_ns // US_NS,
        is_live=lives,
        why="" if lives else _why(now_ns, newest_ns),
        cores=cores_answer(seconds.heat(), []) if has_new else None,
        events=told_events(store, seconds.events(begin_ns - LATE_NS)),
        zombies=zombies_answer(seconds.counts(), None, "the overview has it", []) if has_new else None,
    )


def _why(now_ns: int, newest_ns: int) -> str:
    seconds = (now_ns - newest_ns) // SECOND_NS
    if seconds < 0:
        return "the newest second is in the future: the clocks differ"
    return f"no recorder has written for {seconds:,} s; necroscope record starts one"
