"""What a unit's conditions say to its start, and which files they lack.

systemd looks at one condition after the other up to the first that does not hold, tells how each turned out,
and forgets that at a daemon-reload: then it tells only whether all of them held. What files tell now stands
in for what it does not tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from necroscope.sources.host import Host
from necroscope.sources.systemd.unit_conditions import failed_assertions, failed_conditions

ON_FILES = ("Path", "File", "Directory")  # how the names of conditions on a file go on
NOT_LOOKED_AT = 0
Condition = tuple[str, bool, bool, str, int]  # kind, is one of several, is negated, parameter, result
FailedByFiles = Callable[[Host, Mapping[str, tuple[str, ...]]], Iterator[str]]
BY_FILES: dict[str, FailedByFiles] = {"Condition": failed_conditions, "Assert": failed_assertions}


@dataclass(frozen=True, slots=True)
class FileCondition:
    """One that asks for a file to be there, and does not hold."""

    text: str  # ConditionPathExists=/etc/ecs/ecs.config
    path: str


@dataclass(frozen=True, slots=True)
class StartConditions:
    """All conditions of a unit, or all its assertions."""

    has_failed: bool = False  # systemd looked at them, and did not start the unit
    lacking: tuple[tuple[FileCondition, ...], ...] = ()  # of each of these, one has to be met
    is_hopeless: bool = False  # one does not hold, or may not, that no file would meet
    is_open: bool = False  # of one that systemd did not look at, files do not tell whether it holds

    def __and__(self, other: StartConditions) -> StartConditions:
        """Both of them."""
        return StartConditions(
            self.has_failed or other.has_failed,
            self.lacking + other.lacking,
            self.is_hopeless or other.is_hopeless,
            self.is_open or other.is_open,
        )


def judge(host: Host, conditions: Sequence[Condition], looked_at: bool, held: bool) -> StartConditions:
    """What conditions say; `looked_at` and `held` are what systemd remembers of all of them together.

    One that asks for a file not to be there is a switch that somebody set.
    """
    if looked_at and held:
        return StartConditions()
    is_forgotten = looked_at and all(one[4] == NOT_LOOKED_AT for one in conditions)
    lacking, is_hopeless, is_open = [], False, False
    for group in _groups(conditions):
        states = [_holds(host, one) for one in group]
        if any(states):
            continue
        if None in states:
            is_open = True
            is_hopeless |= is_forgotten  # it may be the one that failed
        elif files := tuple(_files_asked_for(group)):
            lacking.append(files)
        else:
            is_hopeless = True
    return StartConditions(looked_at, tuple(lacking), is_hopeless, is_open)


def _groups(conditions: Sequence[Condition]) -> Iterator[Sequence[Condition]]:
    """Each alone, and the alternatives (`|`) together: of a group, one has to hold."""
    yield from ([one] for one in conditions if not one[1])
    if alternatives := [one for one in conditions if one[1]]:
        yield alternatives


def _holds(host: Host, condition: Condition) -> bool | None:
    """Whether it held when systemd looked, else whether it does by files; None where these do not tell."""
    kind, _, is_negated, parameter, result = condition
    if result != NOT_LOOKED_AT:
        return result > 0
    if not _is_on_file(kind):
        return None
    family = "Assert" if kind.startswith("Assert") else "Condition"
    fails, fails_negated = (
        any(BY_FILES[family](host, {f"Unit.{kind}": (f"{'!' * negated}{parameter}",)}))
        for negated in (is_negated, not is_negated)
    )
    return fails_negated if fails != fails_negated else None


def _files_asked_for(group: Sequence[Condition]) -> Iterator[FileCondition]:
    for kind, is_alternative, is_negated, parameter, _ in group:
        if not is_negated and _is_on_file(kind):
            yield FileCondition(f"{kind}={'|' * is_alternative}{parameter}", parameter)


def _is_on_file(kind: str) -> bool:
    return kind.removeprefix("Condition").removeprefix("Assert").startswith(ON_FILES)
