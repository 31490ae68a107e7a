"""By which name an answer lies in the file; web/src/api/answer_key.ts makes the same of the same question."""

from __future__ import annotations

import json

from necroscope.server.questions.selection import Filters, Range, Tree

HOSTS, EVENTS, ZOMBIES = '["hosts"]', '["events"]', '["zombies"]'


def cores_key(span: Range) -> str:
    """Cores are looked up by their range: the finest that covers what is asked."""
    return _key("cores", span.begin_us, span.end_us)


def diagnosis_key(span: Range) -> str:
    """A diagnosis of another range is another diagnosis."""
    return _key("diagnosis", span.begin_us, span.end_us)


def culprit_key(span: Range, filters: Filters) -> str:
    """Of the filters, only the cores count."""
    return _key("culprit", span.begin_us, span.end_us, sorted(filters.cpus))


def scope_key(span: Range, filters: Filters, rows: int) -> str:
    """A search shows in the cells."""
    return _key("scope", *_samples(span, filters, is_searched=bool(filters.search)), rows)


def flame_key(span: Range, filters: Filters, tree: Tree) -> str:
    """A search does not change a tree, unless only what matches is counted."""
    is_searched = bool(filters.search) and filters.only_matching
    samples = _samples(span, filters, is_searched=is_searched)
    return _key("flame", *samples, tree.by, tree.inverted, tree.against)


def _samples(span: Range, filters: Filters, *, is_searched: bool) -> list[object]:
    return [
        span.begin_us,
        span.end_us,
        sorted(filters.cpus),
        sorted(filters.processes),
        sorted(filters.threads),
        sorted(filters.events),
        filters.idle,
        [filters.search, filters.regexp, filters.only_matching] if is_searched else None,
    ]


def _key(*parts: object) -> str:
    return json.dumps(parts, separators=(",", ":"), ensure_ascii=False)
