"""The stacks of a range as a tree, alone or against quiet seconds or another range."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass

from necroscope.server.questions.flame_query import MOST_NODES, CountedStacks, count_stacks
from necroscope.server.questions.recorded_store import Damaged, RecordedStore
from necroscope.server.questions.selection import US_NS, Filters, Range, Tree


@dataclass(frozen=True, slots=True)
class FlameLabel:
    """What a frame is called, and what it is of."""

    name: str
    kind: str
    module: str


@dataclass(frozen=True, slots=True)
class Baseline:
    """What the selection is compared with."""

    text: str
    seconds: float
    samples: int
    ranges: list[tuple[int, int]]  # microseconds, begin and end


@dataclass(frozen=True, slots=True)
class Flame:
    """A node has a place in each array (u32 in base64); a parent stands before its children."""

    title: str
    notes: list[str]
    samples: int
    idle: int
    unknown: int
    lost: int | None
    seconds: float
    nodes: int
    parent: str
    label: str
    total: str
    own: str
    baseline_total: str | None
    baseline_own: str | None
    labels: list[FlameLabel]
    baseline: Baseline | None
    damaged: list[Damaged]


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
