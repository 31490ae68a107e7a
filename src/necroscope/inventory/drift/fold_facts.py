"""What is told as one difference: facts about one unit, and facts that split the hosts in the same way."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from necroscope.inventory.drift.splits import Candidate, likeness
from necroscope.model.drift import Because

MUCH_ALIKE = 0.6  # the correlation of two splits


@dataclass(slots=True, eq=False)
class Row:
    """A difference in the making."""

    lead: Candidate
    together: list[Candidate] = field(default_factory=list)  # of the same subject
    same_split: list[Candidate] = field(default_factory=list)  # of other subjects
    alike: list[Row] = field(default_factory=list)  # cannot be told apart from these
    follows: list[str] = field(default_factory=list)
    because: Because | None = None
    cause_of: list[str] = field(default_factory=list)
    is_significant: bool = False
    stands_out: bool = False  # what is known about it counts here
    p_among_alike: float | None = None  # among hosts alike in the rows that stand by themselves

    @property
    def members(self) -> list[Candidate]:
        """All facts in it, the lead first."""
        return [self.lead, *self.together, *self.same_split]


def by_split(candidates: Iterable[Candidate]) -> list[Row]:
    """One row for all facts that split the hosts in the same way, led by the one that is known best."""
    return [_row(some) for some in _gathered(candidates, lambda one: one.split.key)]


def by_subject(candidates: Iterable[Candidate]) -> list[Row]:
    """One row for all facts about the same unit; any other fact is alone."""
    return [_row(some) for some in _gathered(candidates, lambda one: one.subject)]


def join_subjects(rows: list[Row]) -> list[Row]:
    """Rows about one unit that split the hosts in much the same way as one, in the order given."""
    kept: list[Row] = []
    first: dict[str, Row] = {}
    for row in rows:
        other = first.setdefault(row.lead.subject, row)
        if other is row or likeness(row.lead.split, other.lead.split) < MUCH_ALIKE:
            kept.append(row)
        else:
            others = [one for one in row.members if one.subject == other.lead.subject]
            other.together += others
            other.same_split += [one for one in row.members if one not in others]
    return kept


def order_of_fact(candidate: Candidate) -> tuple[float, float, str]:
    """What is known best comes first, then what goes best with the symptom."""
    return -candidate.weight, candidate.p, candidate.fact.id


def _row(candidates: list[Candidate]) -> Row:
    lead, *others = sorted(candidates, key=order_of_fact)
    together = [one for one in others if one.subject == lead.subject]
    return Row(lead, together, [one for one in others if one.subject != lead.subject])


def _gathered(candidates: Iterable[Candidate], key: Callable[[Candidate], Any]) -> list[list[Candidate]]:
    gathered: dict[Any, list[Candidate]] = {}
    for candidate in candidates:
        gathered.setdefault(key(candidate), []).append(candidate)
    return list(gathered.values())
