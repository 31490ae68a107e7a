"""What must be so on every kernel, and on which it is not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from necroscope.sources.cgroup_ledger import LEAKS_KEPT

Found = Mapping[str, Any]  # what the probe found on one machine

NEAR = 0.1  # of the zombies that were left
FEW = 0.2  # of them: what cores keep, and what others make and free meanwhile
KINDS = {"page_cache_bytes": "read", "tmpfs_bytes": "tmpfs"}  # of memory, and whose parent has it
SOURCES_THAT_MAY_BE_ABSENT = {"units", "held-back-units", "nic-counters", "pressure"}  # in a guest


def methods(found: Found, *, right: bool) -> list[str]:
    """The methods that exist and counted the zombies within a tenth, or did not."""
    left = found["left"]
    counted = {method: answer["count"] for method, answer in found["counts"].items() if "count" in answer}
    return sorted(method for method, count in counted.items() if (abs(count - left) <= NEAR * left) == right)


def pins_told(found: Found) -> list[str]:
    """The kinds of memory that hold zombies and were told as such, to the byte but for the error."""
    pins = found["pins"]
    return [kind for kind, parent in KINDS.items() if parent in pins and _is_told(pins, parent, kind)]


def growing_reads(found: Found) -> list[str]:
    """The statistics that cost more with zombies than without, by our measure and by that of the program."""
    grown = [name for name, cost in found["reads"].items() if cost.get("growth") == "proportional"]
    has_wall = any(level is not None for level in found.get("walls", ()))
    return [*grown, *(["the program foresees a wall"] if has_wall else [])]


def _is_told(pins: Found, parent: str, kind: str) -> bool:
    other = "tmpfs_bytes" if kind == "page_cache_bytes" else "page_cache_bytes"
    row, error = pins[parent], pins["error_bytes"]
    return (
        row[kind] is not None and abs(row[kind] - row["charged_bytes"]) <= error and abs(row[other]) <= error
    )


def _names_or_says_why_not(found: Found) -> bool:
    purge = found["purge"]
    if purge["names_tmpfs_files"]:
        return True
    if purge["can_name_files"]:  # where no parent shows by its memory, as before 5.13 on v1
        return any("what holds the rest is not known" in step["did"] for step in purge["steps"])
    return any("not known by name" in warning for warning in purge["warnings"])


def _is_exact_or_says_so(found: Found) -> bool:
    pins = found["pins"]
    if len(pins_told(found)) == 2:
        return True
    rows = [(pins[parent], kind) for kind, parent in KINDS.items() if parent in pins]
    too_much = [row for row, kind in rows if (row[kind] or 0) > row["charged_bytes"] + pins["error_bytes"]]
    return pins.get("error_bytes_each", 0) > 0 and not too_much


def _half(found: Found) -> float:
    return float(found["left"]) / 2


# Of all of them together: else nothing is said about any.
JUDGED = "a machine was probed that counts its memory cgroups"

# Of a machine on which zombies were left.
MUST_HOLD: dict[str, Callable[[Found], bool]] = {
    "the program counts the zombies": lambda found: "source" in methods(found, right=True),
    "the ledger has every cgroup made and removed": lambda found: (
        found["ledger"]["made"] == found["ledger"]["removed"] == found["left"]
    ),
    "the ledger folds their paths": lambda found: (
        found["ledger"]["paths"] == ["/lab-kernels-read/#", "/lab-kernels-tmpfs/#"]
    ),
    "the ledger lists them one by one": lambda found: (
        found["ledger"]["listed"] >= min(LEAKS_KEPT, found["counts"]["ledger"]["count"])
    ),
    "the ledger lost no event": lambda found: found["ledger"]["lost_events"] == 0,
    "the ledger names who made them": lambda found: (
        found["ledger"]["creators"] == [found["ledger"]["made_by"]]
    ),
    "what holds them is told, or that a page each is too little to tell": _is_exact_or_says_so,
    "a plan of the purge is the same again": lambda found: found["purge"]["is_same_again"],
    "no step of the purge goes amiss": lambda found: found["purge"]["amiss"] == [],
    "the purge frees what page cache holds": lambda found: (
        found["purge"]["freed"] >= (1 - FEW) * _half(found)
    ),
    "tmpfs files are named, or it is said why not": _names_or_says_why_not,
    "all are gone when the files are": lambda found: found["left_at_end"] <= FEW * _half(found),
}

# Of a guest, where more may be done.
MUST_HOLD_IN_GUESTS: dict[str, Callable[[Found], bool]] = {
    "what tmpfs holds stays": lambda found: abs(found["purge"]["after"] - _half(found)) <= FEW * _half(found),
    "the verb counts the zombies": lambda found: (
        abs(found["verb_counts"] - found["left"]) <= NEAR * found["left"]
    ),
    "doctor counts the zombies": lambda found: (
        abs((found["doctor"]["zombies"] or 0) - found["left"]) <= NEAR * found["left"]
    ),
    "doctor names the interface and driver that stalled": lambda found: any(
        "eth9 (ena)" in summary for summary in found["doctor"]["resets"]
    ),
    "doctor names the busy core": lambda found: 1 in found["doctor"]["busy_cores"],
    "doctor misses only what a guest lacks": lambda found: (
        set(found["doctor"]["not_checked"]) <= SOURCES_THAT_MAY_BE_ABSENT
    ),
    "a unit that reads a file leaves a zombie": lambda found: (
        found["emptied"]["left"] > found["emptied"]["units"] / 2
    ),
}


def leaves_zombies(found: Found) -> bool:
    """Whether the kernel kept the removed cgroups: 7.2 does not, nor one that has no memory cgroups.

    The program's own count has no say: it is judged by this.
    """
    return any(count > found["left"] / 2 for count in _other_counts(found))


def _other_counts(found: Found) -> list[int]:
    """What the methods counted that are not the program's own."""
    counts = found.get("counts", {})
    return [answer["count"] for method, answer in counts.items() if method != "source" and "count" in answer]


def where_not(machines: Mapping[str, Found]) -> dict[str, list[str]]:
    """For each of what must hold, the machines on which it does not."""
    with_zombies = {id: found for id, found in machines.items() if leaves_zombies(found)}
    guests = {id: found for id, found in with_zombies.items() if "doctor" in found}
    judged = [id for id, found in machines.items() if _other_counts(found)]
    return {
        JUDGED: [] if judged else [*machines] or ["no machine was probed"],
        **_where_not(MUST_HOLD, with_zombies),
        **_where_not(MUST_HOLD_IN_GUESTS, guests),
    }


def _where_not(
    musts: Mapping[str, Callable[[Found], bool]], machines: Mapping[str, Found]
) -> dict[str, list[str]]:
    return {
        what: [id for id, found in machines.items() if not _holds(must, found)]
        for what, must in musts.items()
    }


def _holds(must: Callable[[Found], bool], found: Found) -> bool:
    """What a machine did not give, such as the ledger, is not as it must be."""
    try:
        return must(found)
    except (KeyError, TypeError):
        return False
