"""The results of a run as the page docs/kernels.md: one table a question, a column for each kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lab.scenarios.kernels.judging import leaves_zombies
from lab.scenarios.kernels.leaving import AGENT_NAME

Found = Mapping[str, Any]

COMMAND = "python -m lab.scenarios.kernels.write_page"
HEAD = """\
# Kernels: what works where

Made on {date} by `{command}` from what the lab's scenario `kernels`
found, not written by hand. It boots Debian's kernels in QEMU (software emulation, two cores) and runs the
project's own code in each, and on the machine itself. Times in a guest are many times those of hardware:
compare them within a cell only. A note says what a kernel answered instead. `/proc/slabinfo` counts whole
slabs: at such small numbers it is not exact.

On each machine {left} memory cgroups were made and removed by a process called `{agent}`: half of them had
read a file on a disk (or written it, on the machine itself), half had written a page of tmpfs.
"""
FREED = "this kernel frees removed memory cgroups at once"
METHODS = {
    "source": "the program (`necroscope zombies`, `doctor`)",
    "proc_cgroups": "`/proc/cgroups` less directories",
    "dying_descendants": "`cgroup.stat`: `nr_dying_descendants`",
    "dying_subsys_memory": "`cgroup.stat`: `nr_dying_subsys_memory`",
    "slabinfo": "`/proc/slabinfo`: `mem_cgroup`",
    "ledger": "the ledger: removed and not released",
}


@dataclass(slots=True)
class Notes:
    """Reasons, each with a number."""

    reasons: list[str] = field(default_factory=list)

    def mark(self, reason: str) -> str:
        """What stands in a cell for a reason."""
        if reason not in self.reasons:
            self.reasons.append(reason)
        return f"no [{self.reasons.index(reason) + 1}]"


Row = tuple[str, Callable[[Found], str]]


def kernels_page(results: Mapping[str, Any]) -> str:
    """The whole page."""
    names: Mapping[str, str] = results["names"]
    machines: Mapping[str, Found] = results["machines"]
    with_zombies = {id: found for id, found in machines.items() if leaves_zombies(found)}
    notes = Notes()
    left = next((found["left"] for found in with_zombies.values()), 0)
    head = HEAD.format(date=results["date"], command=COMMAND, left=left, agent=AGENT_NAME)
    tables = [
        _table("Machines", names, machines, _machine_rows()),
        _table("Zombies counted", names, with_zombies, _count_rows(notes)),
        _table("Named, held, let go", names, with_zombies, _use_rows(notes)),
        _table("One read of the statistics, in microseconds", names, with_zombies, _read_rows(notes)),
        _table("Sources", names, machines, _source_rows(machines, notes)),
    ]
    return "\n".join([head, *tables, _without(names, machines, with_zombies), _notes(notes)]).rstrip() + "\n"


def _table(title: str, names: Mapping[str, str], machines: Mapping[str, Found], rows: Sequence[Row]) -> str:
    if not machines:
        return ""
    lines = [
        f"## {title}\n",
        f"| | {' | '.join(names[id] for id in machines)} |",
        f"|---|{'---|' * len(machines)}",
        *(f"| {name} | {' | '.join(cell(found) for found in machines.values())} |" for name, cell in rows),
    ]
    return "\n".join(lines) + "\n"


def _machine_rows() -> list[Row]:
    def memory(found: Found) -> str:
        held = [name for name in found["machine"]["hierarchies"] if "memory" in name]
        return "v1" if held else "none" if "no_memory_cgroups" in found else "v2"

    def beside(found: Found) -> str:
        is_hybrid = "unified (v2)" in found["machine"]["hierarchies"] and memory(found) == "v1"
        return "yes" if is_hybrid else "no"

    return [
        ("release", lambda found: f"{found['machine']['release']}"),
        ("memory cgroups", memory),
        ("cgroup v2 beside v1", beside),
        ("in a guest", lambda found: "no" if "perf" in found and "doctor" not in found else "yes"),
    ]


def _count_rows(notes: Notes) -> list[Row]:
    def cell(method: str) -> Callable[[Found], str]:
        def show(found: Found) -> str:
            answer = found["counts"][method]
            return f"{answer['count']:,}" if "count" in answer else notes.mark(answer["absent"])

        return show

    return [(title, cell(method)) for method, title in METHODS.items()]


def _use_rows(notes: Notes) -> list[Row]:
    def who(found: Found) -> str:
        ledger = found["ledger"]
        if "absent" in ledger:
            return notes.mark(ledger["absent"])
        return f"{', '.join(ledger['creators'])}: {ledger['made']:,} made, {ledger['removed']:,} removed"

    def held(found: Found) -> str:
        told = found["judged"]["pins_told"]
        each = found["pins"].get("error_bytes_each")
        if len(told) < 2 and each:
            return notes.mark(f"each cgroup keeps up to {each // 1024} KiB to itself before it is counted")
        return " and ".join(kind.removesuffix("_bytes").replace("_", " ") for kind in told) or "no"

    def purged(found: Found) -> str:
        purge = found["purge"]
        did = [step["action"] for step in purge["steps"] if not step["did"].startswith("not done")]
        return f"{purge['before']:,} to {purge['after']:,} by {', '.join(did) or 'nothing'}"

    def files(found: Found) -> str:
        if found["purge"]["names_tmpfs_files"]:
            return "yes"
        did = [step["did"].rpartition("; ")[2] for step in found["purge"]["steps"]]
        return notes.mark("; ".join([*found["purge"]["warnings"], *did]))

    def emptied(found: Found) -> str:
        if "emptied" not in found:
            return "not run: it would be felt by others"
        one = found["emptied"]
        return f"{one['left']} without, {one['left_emptied']} with it, of {one['units']} units"

    def perf(found: Found) -> str:
        one = found["perf"]
        return (
            f"{one['description']}: {one['samples']:,} samples"
            if "samples" in one
            else notes.mark(one["absent"])
        )

    return [
        ("who made them (ledger)", who),
        ("what holds them is told", held),
        ("`purge-zombies`: zombies before and after", purged),
        ("tmpfs files that hold the rest are named", files),
        ("left once the files are removed", lambda found: f"{max(found['left_at_end'], 0)}"),
        ("`clean-before-removal`: zombies left", emptied),
        ("perf", perf),
    ]


def _read_rows(notes: Notes) -> list[Row]:
    places = {"root": "the root", "parent": "their parent"}

    def cell(name: str) -> Callable[[Found], str]:
        def show(found: Found) -> str:
            cost = found["reads"][name]
            if "absent" in cost:
                return notes.mark(cost["absent"])
            return f"{cost['without_us']:.0f} without, {cost['with_us']:.0f} with zombies: {cost['growth']}"

        return show

    files = ("memory.stat", "memory.numa_stat")
    return [
        (f"`{file}` of {title}", cell(f"{file} of {place}"))
        for file in files
        for place, title in places.items()
    ]


def _source_rows(machines: Mapping[str, Found], notes: Notes) -> list[Row]:
    def cell(source: str) -> Callable[[Found], str]:
        return lambda found: notes.mark(found["sources"][source]) if found["sources"][source] else "yes"

    every = dict.fromkeys(source for found in machines.values() for source in found["sources"])
    return [(f"`{source}`", cell(source)) for source in every]


def _without(
    names: Mapping[str, str], machines: Mapping[str, Found], with_zombies: Mapping[str, Found]
) -> str:
    lines = [
        f"{names[id]}: {found.get('no_memory_cgroups') or FREED}."
        for id, found in machines.items()
        if id not in with_zombies
    ]
    return "\n".join(["## No zombies\n", *lines, ""]) if lines else ""


def _notes(notes: Notes) -> str:
    rows = [f"{number}. {reason}" for number, reason in enumerate(notes.reasons, 1)]
    return "\n".join(["## Notes\n", *rows])
