"""What the moment view shows of some seconds: flame graphs, the culprit, heatmaps, and the cores."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from necroscope.model.timestamp import SECOND_US
from necroscope.server.asked_samples import LONGEST_SECONDS
from necroscope.server.one_file import answer_key
from necroscope.server.one_file.collected import Collected
from necroscope.server.one_file.event_seconds import EventSeconds
from necroscope.server.questions.cores import ask_cores
from necroscope.server.questions.culprit import ask_culprit
from necroscope.server.questions.flame import ask_flame
from necroscope.server.questions.scope import ask_scope
from necroscope.server.range_and_filters import Filters, Range, Tree
from necroscope.server.recorded_store import RecordedStore

ROWS = 50
MOST_NODES = 60_000  # of a tree in the file
PLAIN = Tree()
DEFAULT_US = 120 * SECOND_US  # web/src/default_range.ts


def collect_samples(
    collected: Collected, store: RecordedStore, seconds: EventSeconds, tree: Tree = PLAIN
) -> bool:
    """Whether there was room for the flame graph against quiet seconds; without it nothing else is added."""
    chosen, filters = seconds.chosen, seconds.filters
    for against in ("quiet", ""):
        asked = replace(tree, against=against)
        key = answer_key.flame_key(chosen, filters, asked)
        collected.ask(key, partial(ask_flame, store, chosen, filters, asked, MOST_NODES))
        if against and not collected.holds(key):
            return False
    culprit_key = answer_key.culprit_key(chosen, filters)
    collected.ask(culprit_key, partial(ask_culprit, store, chosen, filters))
    _collect_around(collected, store, seconds)
    return True


def collect_default(collected: Collected, store: RecordedStore, span: Range) -> None:
    """What the moment view shows before anything is chosen: all of a short range, the end of a long one."""
    longest_us = LONGEST_SECONDS * SECOND_US
    is_long = span.end_us - span.begin_us > longest_us
    shown = replace(span, begin_us=span.end_us - DEFAULT_US) if is_long else span
    asked = Filters()
    collected.ask(answer_key.scope_key(shown, asked, ROWS), partial(ask_scope, store, shown, asked, ROWS))
    flame_key = answer_key.flame_key(shown, asked, PLAIN)
    collected.ask(flame_key, partial(ask_flame, store, shown, asked, PLAIN, MOST_NODES))
    collected.ask(answer_key.culprit_key(shown, asked), partial(ask_culprit, store, shown, asked))


def _collect_around(collected: Collected, store: RecordedStore, seconds: EventSeconds) -> None:
    for shown in seconds.shown:
        for filters in (seconds.filters, Filters()):
            key = answer_key.scope_key(shown, filters, ROWS)
            collected.ask(key, partial(ask_scope, store, shown, filters, ROWS))
    if fine := seconds.fine:
        columns = (fine.end_us - fine.begin_us) // SECOND_US
        collected.ask(answer_key.cores_key(fine), partial(ask_cores, store, fine, columns))
