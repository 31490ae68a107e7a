"""The ledger's groups added up by one of the things that they have in common."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from necroscope.sources.cgroup_ledger import LedgerGroup, owner_of

By = Literal["path", "creator", "unit"]
UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class LedgerShare:
    """Cgroups of one path pattern, creator or unit, since the ledger began; `dying` and `zombies` are now."""

    name: str
    made: int
    removed: int
    released: int
    dying: int
    zombies: int
    creators: tuple[str, ...]  # who made them, most zombies first
    example: str  # a former path


KEYS: dict[By, Callable[[LedgerGroup], str]] = {
    "path": lambda group: group.pattern,
    "creator": lambda group: group.creator or UNKNOWN,
    "unit": lambda group: owner_of(group) or UNKNOWN,
}


def shares_by(groups: Sequence[LedgerGroup], by: By) -> list[LedgerShare]:
    """The groups added up, most zombies first."""
    together: dict[str, list[LedgerGroup]] = defaultdict(list)
    for group in groups:
        together[KEYS[by](group)].append(group)
    shares = [_added(name, rows) for name, rows in together.items()]
    return sorted(shares, key=lambda share: (-share.zombies, -share.dying, -share.made, share.name))


def _added(name: str, rows: Sequence[LedgerGroup]) -> LedgerShare:
    worst = sorted(rows, key=lambda group: (-group.zombies, -group.dying, -group.made))
    return LedgerShare(
        name=name,
        made=sum(row.made for row in rows),
        removed=sum(row.removed for row in rows),
        released=sum(row.released for row in rows),
        dying=sum(row.dying for row in rows),
        zombies=sum(row.zombies for row in rows),
        creators=tuple(dict.fromkeys(row.creator or UNKNOWN for row in worst)),
        example=worst[0].example,
    )
