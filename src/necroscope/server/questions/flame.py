"""The stacks of a range as a tree, alone or against quiet seconds or another range."""

from __future__ import annotations

from base64 import b64encode

from necroscope.server.answers.flame import Baseline, Flame, FlameLabel
from necroscope.server.counted_stacks import MOST_NODES, CountedStacks, count_stacks
from necroscope.server.range_and_filters import US_NS, Filters, Range, Tree
from necroscope.server.recorded_store import RecordedStore


def ask_flame(
    store: RecordedStore, span: Range, filters: Filters, asked: Tree, most_nodes: int = MOST_NODES
) -> Flame:
    """What `necroscope flame` shows, with its title and notes. NoSamplesError: there is nothing."""
    stacks = count_stacks(store, span, filters, asked).at_most(most_nodes)
    found, tree = stacks.found, stacks.tree
    return Flame(
        title=stacks.title.text,
        notes=list(stacks.title.notes),
        samples=found.samples,
        idle=found.idle,
        unknown=found.unknown,
        lost=found.lost,
        seconds=stacks.seconds,
        nodes=tree.nodes,
        parent=_text(tree.parent),
        label=_text(tree.label),
        total=_text(tree.total),
        own=_text(tree.own),
        baseline_total=None if tree.baseline_total is None else _text(tree.baseline_total),
        baseline_own=None if tree.baseline_own is None else _text(tree.baseline_own),
        labels=[FlameLabel(label.name, label.kind, label.module) for label in tree.labels],
        baseline=_baseline(stacks),
        damaged=store.damaged_in(span, stacks.damaged),
    )


def _baseline(stacks: CountedStacks) -> Baseline | None:
    if stacks.baseline is None:
        return None
    found = stacks.baseline.window
    ranges = [(one.begin_ns // US_NS, one.end_ns // US_NS) for one in found.selections]
    return Baseline(stacks.baseline.text, stacks.baseline_seconds, found.samples, ranges)


def _text(column: bytes) -> str:
    return b64encode(column).decode()
