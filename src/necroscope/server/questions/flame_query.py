"""The stacks that a question is about: counted, compared, named, and as a tree of bounded size."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from necroscope.diagnosis.quiet_baseline.baseline import Baseline, named_baseline, quiet_baseline
from necroscope.diagnosis.quiet_baseline.flame_title import describe, flame_title
from necroscope.errors import NoSamplesError, UsageError
from necroscope.profiles.export.title import Title
from necroscope.profiles.pruned_tree import pruned
from necroscope.profiles.skip_unreadable import skip_unreadable
from necroscope.profiles.tree_bytes import TreeBytes, tree_bytes
from necroscope.profiles.window import SHORTEST_SECONDS, Selection, Window, window
from necroscope.server.questions.failure import without_paths
from necroscope.server.questions.recorded_store import RecordedStore
from necroscope.server.questions.selection import (
    LONGEST_SECONDS,
    Filters,
    Range,
    Tree,
    asked_selection,
    require_some,
)
from necroscope.signals.thresholds import load_thresholds
from necroscope.store.store import Damage, StoredSegment

SPAN = re.compile(r"(\d{1,16})\.\.(\d{1,16})", re.ASCII)
MOST_NODES = 2_000_000


@dataclass(frozen=True, slots=True)
class CountedStacks:
    """What was counted, and what is said about it."""

    found: Window
    baseline: Baseline | None
    tree: TreeBytes
    title: Title
    damaged: list[Damage]

    @property
    def seconds(self) -> float:
        """How long the window is; never 0, since rates are told by it."""
        return max(self.found.seconds, SHORTEST_SECONDS)

    @property
    def baseline_seconds(self) -> float:
        """The same of the baseline."""
        return max(self.baseline.window.seconds if self.baseline else 0.0, SHORTEST_SECONDS)

    def at_most(self, nodes: int) -> CountedStacks:
        """The same with so many nodes at most, and a note where some were left out."""
        small = pruned(self.tree, self.seconds, self.baseline_seconds, nodes)
        if small is self.tree:
            return self
        left_out = self.tree.nodes - small.nodes
        note = f"{left_out:,} of {self.tree.nodes:,} frames are left out, those with the fewest samples"
        return replace(self, tree=small, title=replace(self.title, notes=(*self.title.notes, note)))


def count_stacks(store: RecordedStore, span: Range, filters: Filters, asked: Tree) -> CountedStacks:
    """NoSamplesError: there are none. Without quiet seconds the tree stands alone, and a note says so."""
    span.require_at_most(LONGEST_SECONDS, "a flame graph")
    damaged: list[Damage] = []
    selection = asked_selection(span, filters)
    segments = store.segments_of(span.host)
    found, left = skip_unreadable(
        lambda some: window(some, selection, asked.by), segments, selection, damaged
    )
    require_some(found, left)
    baseline, notes = _baseline(left, selection, asked, span.host, damaged)
    tree = tree_bytes(found, baseline.window if baseline else None, inverted=asked.inverted)
    title = flame_title(describe(selection, span.host), found, baseline)
    title = replace(title, notes=(*title.notes, *notes))
    return CountedStacks(found, baseline, tree, title, damaged)


def _baseline(
    segments: list[StoredSegment], selection: Selection, asked: Tree, host: str, damaged: list[Damage]
) -> tuple[Baseline | None, Sequence[str]]:
    if not asked.against:
        return None, ()
    if asked.against != "quiet":
        other = _named_range(asked.against, host)
        return named_baseline(
            segments, selection, (other.time.begin_ns, other.time.end_ns), damaged, asked.by
        ), ()
    try:
        return quiet_baseline(segments, selection, load_thresholds(None), damaged, asked.by), ()
    except NoSamplesError as error:
        return None, (f"not compared: {without_paths(error.what)}",)


def _named_range(words: str, host: str) -> Range:
    found = SPAN.fullmatch(words)
    if not found:
        raise UsageError("`against` is neither empty, nor `quiet`, nor BEGIN_US..END_US")
    other = Range(host, int(found[1]), int(found[2]))
    other.require_at_most(LONGEST_SECONDS, "a baseline")
    return other
