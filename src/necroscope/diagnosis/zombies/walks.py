"""Which kernel functions betray a walk over memory cgroups (rules/walks.toml)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class Walk:
    """A kind of walk: who does it, on which kernels, and whether zombies make it longer."""

    id: str
    functions: tuple[str, ...]
    what: str
    kernels: str
    zombies: bool
    reference: str
    until: str = ""  # the newest kernel on which it visits zombies; empty: all do


@dataclass(frozen=True, slots=True)
class WalkRules:
    """All walks, and the functions below them that do other work than walking."""

    walks: tuple[Walk, ...]
    work: frozenset[str]


@cache
def walk_rules() -> WalkRules:
    """The rules as they are shipped."""
    tables = tomllib.loads(files("necroscope.diagnosis").joinpath("rules/walks.toml").read_text())
    work = frozenset(tables.pop("work"))
    walks = (Walk(id, **{**row, "functions": tuple(row["functions"])}) for id, row in tables.items())
    return WalkRules(tuple(walks), work)


@cache
def walk_of(function: str) -> Walk | None:
    """The walk that a kernel function is a part of."""
    name = _bare(function)
    for walk in walk_rules().walks:
        if any(fnmatchcase(name, pattern) for pattern in walk.functions):
            return walk
    return None


def walk_in(stack: Iterable[str]) -> Walk | None:
    """The walk that a stack, outermost function first, is in; None where it does a walk's other work."""
    found: Walk | None = None
    for function in stack:
        found = found or walk_of(function)
        if found and _bare(function) in walk_rules().work:
            return None
    return found


def is_work(function: str) -> bool:
    """Whether a function called from a walk works on pages or objects instead of walking."""
    return _bare(function) in walk_rules().work


def visits_zombies(walk: Walk, kernel_release: str) -> bool:
    """Whether zombies make a walk longer on a kernel. False where that depends on a release nobody knows."""
    if not walk.zombies or not walk.until:
        return walk.zombies
    own, newest = _release(kernel_release), _release(walk.until)
    return own is not None and newest is not None and own <= newest


def _release(text: str) -> tuple[int, int] | None:
    match = re.match(r"(\d+)\.(\d+)", text)
    return (int(match[1]), int(match[2])) if match else None


def _bare(function: str) -> str:
    return function.partition(".")[0]
