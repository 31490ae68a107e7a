"""A flame graph as one file, with the minute around it: what "export HTML" saves."""

from __future__ import annotations

import time
from dataclasses import replace

from necroscope import __version__
from necroscope.model.timestamp import SECOND_US
from necroscope.server.asked_samples import LONGEST_SECONDS
from necroscope.server.one_file import answer_key
from necroscope.server.one_file.address import moment_address
from necroscope.server.one_file.collected import Collected
from necroscope.server.one_file.event_seconds import EventSeconds, fine_around, minute_around
from necroscope.server.one_file.overview_answers import collect_overview
from necroscope.server.one_file.page_file import About, page_file
from necroscope.server.one_file.sample_answers import collect_samples
from necroscope.server.questions.flame import ask_flame
from necroscope.server.range_and_filters import Filters, Range, Tree
from necroscope.server.recorded_store import RecordedStore

MOST_NODES = 400_000
LEFT_OUT = "other seconds and other choices of samples than the one that was saved"


def moment_page(store: RecordedStore, chosen: Range, filters: Filters, tree: Tree) -> bytes:
    """The file. NoSamplesError: there is nothing to show in it."""
    collected = Collected()
    around = fine_around(chosen)
    seconds = EventSeconds(chosen, (_minute(chosen),), around, filters)
    # Asked for outside of `collected`, so that a question without an answer is an error and no file.
    flame = ask_flame(store, chosen, filters, tree, MOST_NODES)
    collected.ask(answer_key.flame_key(chosen, filters, tree), lambda: flame)
    collect_overview(collected, store, around)
    collect_samples(collected, store, seconds, tree)
    collected.left_out.append(LEFT_OUT)
    start = moment_address(seconds.shown[0], chosen, filters, tree)
    return page_file(collected, About(around, start, time.time_ns() // 1000, __version__)).content


def _minute(chosen: Range) -> Range:
    """The minute around it, or where it is longer, itself in whole seconds."""
    minute = minute_around(chosen.host, chosen.end_us)
    begin_us = min(minute.begin_us, chosen.begin_us // SECOND_US * SECOND_US)
    return replace(minute, begin_us=max(begin_us, minute.end_us - LONGEST_SECONDS * SECOND_US))
