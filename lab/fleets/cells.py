"""A generated fleet as `fleet where` counts it, but not through tables: for trials with many."""

from __future__ import annotations

import numpy as np

from lab.fleets.fleet import Fleet
from lab.fleets.made_of import ABSENT, Fact
from necroscope.fleet.host_facts import NOT_THERE, UNKNOWN, WHOLE_SECTIONS
from necroscope.fleet.questions.where_cells import Cells, Flags, Label


def cells_of(fleet: Fleet) -> Cells:
    """Every host before its change, and after it."""
    plan, made = fleet.plan, fleet.made
    change = np.minimum(made.changes_at, plan.seconds)
    whole, zero = np.full(plan.hosts, plan.seconds), np.zeros(plan.hosts)
    seconds = [fleet.lives.recorded_between(*span) for span in ((zero, change), (change, whole))]
    recorded_us = (np.concatenate(seconds) * 1e6).astype(np.int64)
    episodes = np.zeros(2 * plan.hosts, dtype=np.int64)
    np.add.at(episodes, fleet.episodes.host + plan.hosts * fleet.episodes.is_after, 1)
    is_there = recorded_us > 0
    has_facts = np.tile(made.has_facts, 2)
    labels = tuple(_label(name, made.facts[name], has_facts, is_there) for name in sorted(made.facts))
    host = np.tile(np.arange(plan.hosts), 2)
    return Cells(host[is_there], has_facts[is_there], recorded_us[is_there], episodes[is_there], labels)


def _label(name: str, fact: Fact, has_facts: Flags, is_there: Flags) -> Label:
    codes = fact.codes.ravel().astype(np.int64)
    values = list(fact.values)
    if name.partition("/")[0] in WHOLE_SECTIONS:
        codes = np.where(codes == ABSENT, len(values), codes)
        values.append(NOT_THERE)
    return Label(name, tuple(values), np.where(has_facts, codes, UNKNOWN)[is_there])
