"""All probes on the machine that this runs on, as one JSON object.

    python -m lab.scenarios.kernels.probe guest
    python -m lab.scenarios.kernels.probe here FOLDER

Run in a guest it may do anything: `guest`. On a machine that others use, `here` leaves out what would be felt
outside of its own cgroups: dropping all caches, a line in the kernel's log, a busy core. FOLDER is on a disk.

Needs    root, and a memory hierarchy whose real root is mounted
Costs    100 s in a guest alone, 150 to 245 s in each of two at once, 20 s natively (measured, software
         emulation, two cores that others used as well); at the end nothing is left
"""

from __future__ import annotations

import json
import os
import signal
import sys
import sysconfig
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from lab.scenarios.kernels.counting import added, count_by_all_methods
from lab.scenarios.kernels.leaving import (
    AGENT_NAME,
    SETTLE_SECONDS,
    leave,
    new_files,
    parent_of_zombies,
    read_files,
    wait_for,
)
from lab.scenarios.kernels.looking import capturing, look
from lab.scenarios.kernels.purging import FILES, empty_before_removal, purge
from lab.scenarios.kernels.reading_cost import compared, read_costs
from lab.scenarios.kernels.verbs import Verb, running
from necroscope.remedies.actions.counting import count_zombies
from necroscope.sources.catalog import SOURCES
from necroscope.sources.hierarchies import Hierarchy, find_hierarchy, read_hierarchies
from necroscope.sources.host import Host

ZOMBIES = 200  # of each kind
PROBE = "lab-kernels"
CAPTURE_SECONDS = 3.0
LIBRARY = Path(os.__file__).parent  # of Python: hundreds of files that nobody in a guest has read
PACKAGES = Path(sysconfig.get_path("purelib"))


def main() -> None:
    """Probe and print."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
    disk = Path(sys.argv[2]) if sys.argv[1] == "here" else None
    host = Host()
    _tell("sources")
    result: dict[str, Any] = {"machine": _machine(host), "sources": _sources(host)}
    hierarchy = find_hierarchy(host, "memory")
    if hierarchy.value is None:
        result["no_memory_cgroups"] = hierarchy.reason
    else:
        with tempfile.TemporaryDirectory(prefix="necroscope-lab-") as scratch:
            result |= _zombies(host, hierarchy.value, disk, Path(scratch))
    _tell("done")
    print(json.dumps(result))


def _tell(part: str) -> None:
    """Say what comes next: where a guest is ended early, this is what is left of it."""
    sys.stderr.write(f"{time.monotonic():7.1f} {part}\n")
    sys.stderr.flush()


def _machine(host: Host) -> dict[str, Any]:
    return {
        "release": os.uname().release,
        "cores": os.cpu_count(),
        "hierarchies": [one.name for one in read_hierarchies(host).value or ()],
    }


def _sources(host: Host) -> dict[str, str]:
    """Every source of the catalog: empty where it was read, else why not."""
    return {source.id: source.open(host)().reason for source in SOURCES}


def _zombies(host: Host, hierarchy: Hierarchy, disk: Path | None, scratch: Path) -> dict[str, Any]:
    own, at_start = disk is None, count_zombies(host)
    with ExitStack() as stack:
        on_disk = stack.enter_context(new_files(ZOMBIES, disk)) if disk else read_files(ZOMBIES, LIBRARY)
        in_memory = stack.enter_context(new_files(ZOMBIES, "/dev/shm"))
        parents = [
            stack.enter_context(parent_of_zombies(hierarchy, f"{PROBE}-{kind}")) for kind in ("read", "tmpfs")
        ]
        _tell("before the leak")
        before = count_by_all_methods(host, hierarchy)
        cost_before = read_costs(host, hierarchy, parents[1])
        words = ("zombies", "--watch", "--list", "--by", "path", "--json", "--store", str(scratch / "none"))
        with running(words, scratch) as watch:
            watch.wait_for_line()  # the ledger has begun
            _tell("leaving zombies")
            charged = {"read": leave(parents[0], on_disk), "tmpfs": leave(parents[1], in_memory)}
            _tell("zombies --watch")
            time.sleep(SETTLE_SECONDS)
            seen = _watched(watch, charged)
        counted = added(before, count_by_all_methods(host, hierarchy))
        counted["ledger"] = seen.pop("count")
        result = {"left": 2 * ZOMBIES, "counts": counted, **seen}
        result["reads"] = compared(cost_before, read_costs(host, hierarchy, parents[1]))
        _tell("doctor and perf" if own else "perf")
        result |= look(host, ZOMBIES, scratch) if own else _capture(host, scratch)
        _tell("purge")
        result["purge"] = purge(host, "" if own else " ".join(f"/{parent.name}" for parent in parents))
    result["left_at_end"] = wait_for(lambda: count_zombies(host), at_start + ZOMBIES // 10) - at_start
    if own:
        _tell("emptying before removal")
        result["emptied"] = empty_before_removal(host, hierarchy, read_files(FILES, PACKAGES))
    return result


def _capture(host: Host, scratch: Path) -> dict[str, Any]:
    with capturing(host, scratch) as perf:
        time.sleep(CAPTURE_SECONDS)
    return {"perf": perf}


def _watched(watch: Verb, charged: dict[str, int]) -> dict[str, Any]:
    """What `zombies --watch` says of the leak: how many, who, and what holds them."""
    body = watch.wait_for_line(len(watch.lines()))
    if body["ledger"] is None:
        reason = next(row["reason"] for row in body["not_checked"] if "ledger" in row["source"])
        return {"count": {"absent": reason}, "ledger": {"absent": reason}, "pins": _pins(body, charged)}
    shares = [share for share in body["ledger"]["shares"] if share["name"].startswith(f"/{PROBE}-")]
    listed = [row for row in body["zombies"] if row["path"].startswith(f"/{PROBE}-")]
    return {
        "count": {"count": sum(share["zombies"] for share in shares)},
        "verb_counts": body["counts"]["dying"],
        "ledger": {
            "made": sum(share["made"] for share in shares),
            "removed": sum(share["removed"] for share in shares),
            "paths": sorted(share["name"] for share in shares),
            "creators": sorted({row["creator"] for row in listed}),
            "made_by": AGENT_NAME,
            "listed": len({row["id"] for row in listed}),
            "lost_events": body["ledger"]["lost_events"],
        },
        "pins": _pins(body, charged),
        "walls": [cost["level"] for cost in body["wall"]["costs"] if cost["id"] == "wall.read_seconds"],
    }


def _pins(body: dict[str, Any], charged: dict[str, int]) -> dict[str, Any]:
    """What is held below each parent, beside what was charged there."""
    pins = body["pins"]
    if pins is None:
        return {"absent": next((row["reason"] for row in body["not_checked"] if "pins" in row["source"]), "")}
    held = {row["cgroup"]: row for row in pins["by_parent"]}
    rows = {
        kind: {
            "charged_bytes": charged_bytes,
            "page_cache_bytes": held.get(f"/{PROBE}-{kind}", {}).get("page_cache_bytes"),
            "tmpfs_bytes": held.get(f"/{PROBE}-{kind}", {}).get("tmpfs_bytes"),
        }
        for kind, charged_bytes in charged.items()
    }
    return {**rows, "error_bytes": pins["error_bytes"], "error_bytes_each": pins["error_bytes_each"]}


if __name__ == "__main__":
    main()
