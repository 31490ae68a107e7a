"""A fact in words: what it is about, and what is said of it."""

from __future__ import annotations

from collections.abc import Sequence

from necroscope.inventory.drift.subjects import FAILED, LOOPS, NOT_RUN, RUNS, kind_of

LONGEST_VALUE = 60
MOST_PHRASES = 2
STATES = {
    "stopped": "does not run",
    "inactive": "does not run",
    "dead": "does not run",
    "exited": "has run and ended",
    "waiting": "waits",
    "listening": "listens",
    "on demand": "starts on demand",
    "": "is in no state",
}


def about(section: str, name: str) -> str:
    """What a fact is about."""
    head, _, rest = name.partition("/")
    if section in ("units", "environment") and rest:
        return head if rest in ("runs", "enabled") else f"{_aspect(section, rest)} of {head}"
    if section == "kernel" and head == "command-line" and rest:
        return f"kernel parameter {rest}"
    words = {
        "sysctls": "sysctl",
        "packages": "package",
        "modules": "kernel module",
        "labels": "label",
        "bootstrap": "bootstrap step",
        "nics": "NIC setting",
        "mounts": "mount",
        "interrupts": "interrupt setting",
        "kernel": "kernel",
        "cgroups": "cgroup",
        "cpu": "CPU",
    }
    return f"{words.get(section, section)} {name}"


def said(section: str, name: str, value: str | None) -> str:
    """What is said of it: the end of a sentence."""
    head, _, aspect = name.rpartition("/")
    if section == "units" and head and aspect == "runs":
        return _state(value)
    if section == "bootstrap" and not name.endswith("/names"):
        return "is not there" if value is None else _step(value)
    if value is None:
        return {"packages": "is not installed", "modules": "is not loaded"}.get(section, "is not there")
    if section == "units" and aspect == "enabled":
        return f"is {shortened(value)}" if value else "cannot be enabled"
    if section == "packages":
        return f"has version {shortened(value)}"
    return f"is {shortened(value)}" if value else "is empty"


def said_of_all(
    section: str, name: str, values: Sequence[str | None], elsewhere: Sequence[str | None]
) -> str:
    """What is said of hosts that have one of several values, where others have what is elsewhere."""
    if len(values) == 1:
        return said(section, name, values[0])
    if list(elsewhere) == [None]:
        return {"packages": "is installed", "modules": "is loaded"}.get(section, "is there")
    if section in ("units", "bootstrap"):
        kinds = {kind_of(value) for value in values}
        if kinds <= {RUNS, LOOPS}:
            return "runs"
        if kinds == {FAILED}:
            return "failed"
    phrases = list(dict.fromkeys(said(section, name, value) for value in values))
    return (
        " or ".join(phrases) if len(phrases) <= MOST_PHRASES else f"has one of {len(phrases):,} other values"
    )


def shortened(value: str) -> str:
    """A value that fits into a sentence."""
    line = " ".join(value.split())
    return line if len(line) <= LONGEST_VALUE else f"{line[: LONGEST_VALUE - 3]}..."


def _state(value: str | None) -> str:
    if value is None:
        return "is not there"
    kind = kind_of(value)
    if kind == RUNS:
        return "runs"
    if kind == LOOPS:
        return "crash-loops"
    if kind == FAILED:
        return shortened(value)
    return STATES.get(value) or f"is {shortened(value)}"


def _step(value: str) -> str:
    kind = kind_of(value)
    if kind == NOT_RUN:
        return shortened(value.replace("not run", "has not run", 1))
    if value == "succeeded" or kind == FAILED:
        return shortened(value)
    return f"is {shortened(value)}" if value else "is in no state"


def _aspect(section: str, aspect: str) -> str:
    names = {"file": "the place", "text": "the unit file", "needs": "what is needed", "origin": "the origin"}
    return f"variable {aspect}" if section == "environment" else names.get(aspect, aspect)
