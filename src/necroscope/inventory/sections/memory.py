"""Memory: how much, huge pages and who makes them, swap, merging of pages.

Reads    /proc/meminfo, /proc/swaps, /sys/kernel/mm
Needs    nothing
Costs    some 50 small reads: 0.5 ms
"""

from __future__ import annotations

import re

from necroscope.inventory.sections.gathered import Facts, Gathered
from necroscope.inventory.sections.subject import Subject
from necroscope.model.reading import Reading
from necroscope.sources.host import Host, whole_lines

KIB_PER_GIB = 1 << 20
CHOSEN = re.compile(r"\[([\w+-]+)\]")  # always [madvise] never
MM = "/sys/kernel/mm"
# The other files of these folders count.
KHUGEPAGED = (
    *("defrag", "pages_to_scan", "scan_sleep_millisecs", "alloc_sleep_millisecs"),
    *("max_ptes_none", "max_ptes_shared", "max_ptes_swap"),
)
KSM = (
    "run",
    "pages_to_scan",
    "sleep_millisecs",
    "merge_across_nodes",
    "use_zero_pages",
    "smart_scan",
    "advisor_mode",
)


def parse_total_gib(text: str) -> str:
    """MemTotal in whole GiB: a kernel that keeps some pages more for itself is no difference."""
    total = re.search(r"^MemTotal:\s+(\d+) kB$", text, re.MULTILINE)
    if not total:
        raise ValueError("no MemTotal")
    gib = round(int(total[1]) / KIB_PER_GIB)
    return f"{gib} GiB" if gib else "less than 1 GiB"


def parse_swap_kinds(text: str) -> str:
    """The kinds of all swap devices, without their names and use."""
    kinds = []
    for line in whole_lines(text)[1:]:
        name, kind, *_, priority = line.split()
        is_zram = name.rpartition("/")[2].startswith("zram")
        kinds.append(f"{'zram' if is_zram else kind} (priority {priority})")
    return ", ".join(sorted(kinds)) or "none"


def read_memory(subject: Subject) -> Reading[Facts]:
    """Total, transparent and reserved huge pages, khugepaged, KSM, swap."""
    host = subject.host
    gathered = Gathered()
    gathered.add_reading("total", host.read("/proc/meminfo").parsed(parse_total_gib))
    gathered.add_reading("swap", host.read("/proc/swaps", errors="replace").parsed(parse_swap_kinds))
    for name in ("enabled", "defrag", "shmem_enabled", "use_zero_page"):
        _add_choice(host, gathered, f"thp/{name}", f"{MM}/transparent_hugepage/{name}")
    for size in _folders(host, f"{MM}/transparent_hugepage"):
        _add_choice(host, gathered, f"thp/{size}/enabled", f"{MM}/transparent_hugepage/{size}/enabled")
    for name in KHUGEPAGED:
        gathered.add_reading(f"khugepaged/{name}", host.read(f"{MM}/transparent_hugepage/khugepaged/{name}"))
    for size in _folders(host, f"{MM}/hugepages"):
        for name in ("nr_hugepages", "nr_overcommit_hugepages"):
            gathered.add_reading(f"{size}/{name}", host.read(f"{MM}/hugepages/{size}/{name}"))
    for name in KSM:
        _add_choice(host, gathered, f"ksm/{name}", f"{MM}/ksm/{name}")
    gathered.add_reading("lru_gen", host.read(f"{MM}/lru_gen/enabled"))
    gathered.add_reading("numa-demotion", host.read(f"{MM}/numa/demotion_enabled"))
    return gathered.reading("no /proc/meminfo and no /sys/kernel/mm")


def _add_choice(host: Host, gathered: Gathered, name: str, file: str) -> None:
    reading = host.read(file)
    chosen = CHOSEN.search(reading.value or "")
    gathered.add_reading(name, Reading(chosen[1]) if chosen else reading)


def _folders(host: Host, place: str) -> list[str]:
    return [name for name in host.names(place).value or () if name.startswith("hugepages-")]
