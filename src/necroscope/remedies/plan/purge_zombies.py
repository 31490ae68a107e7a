"""Free zombie memory cgroups without a reboot."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Sequence

from necroscope.errors import CannotLookError, UsageError
from necroscope.model import remedy_ids as ids
from necroscope.model.amounts import bytes_text
from necroscope.model.fix import State
from necroscope.model.plan import Assumption, Step
from necroscope.model.shell_command import shell_command
from necroscope.remedies.actions import force_empty, reclaim
from necroscope.remedies.actions.counting import count_memory_cgroups, limit, memory_hierarchy, noise_floor
from necroscope.remedies.actions.drop_caches import DROP_CACHES
from necroscope.remedies.actions.drop_caches import TARGET as DROP_CACHES_FILE
from necroscope.remedies.actions.drop_caches import VALUES as CACHES
from necroscope.remedies.actions.force_empty import FORCE_EMPTY
from necroscope.remedies.actions.holding import (
    Holding,
    held_by,
    is_below,
    kinds_text,
    look_again,
    read_holding,
)
from necroscope.remedies.actions.page_cache_zombies import (
    choose_parents,
    most_below,
    most_by_page_cache,
    too_few_to_drop,
)
from necroscope.remedies.actions.reclaim import RECLAIM
from necroscope.remedies.plan.holder_advice import advise, programs_hold
from necroscope.remedies.plan.kubernetes_node import advise_cordon
from necroscope.remedies.plan.remedy import Part, Remedy
from necroscope.sources.hierarchies import Hierarchy, find_hierarchy
from necroscope.sources.host import Host
from necroscope.sources.memory_cgroups import HierarchyCount

ROOT = "/"
MOST_LOOKED_AT = 32  # cgroups below the root
RECLAIM_FILES = {1: force_empty.FILE, 2: reclaim.FILE}
SYNC_RISK = "sync may take long on a slow or hung disk"
NO_UNDO = "nothing has to be taken back: what is needed is read again"


def plan_purge_zombies(host: Host, subject: str) -> Part:
    """Let go what holds removed memory cgroups in the kernel, as far as that can be done without a reboot.

    Page cache below a living parent: the parent is asked to give back what it can (memory.force_empty on
    cgroup v1, memory.reclaim on v2), which also takes pages that processes have mapped, and costs nobody
    outside of it anything. Parents that can hold next to none of them are left alone. What is left, and what
    was directly below the root: sync and drop_caches, skipped where few are left or it would free next to
    none of them. Then it waits, since the kernel frees them one after the other.

    It does not free what tmpfs files, shared memory and processes hold: these are named where the kernel
    tells (/proc/kpagecgroup), with the commands for a person; where it is not sure that they are to blame,
    with commands to look at them only. It does not stop the leak. A few tens are always left: each core
    keeps some. On a Kubernetes node the commands that cordon it are printed, and not run.

    The subject names parent cgroups, as in "/kubepods /system.slice"; the root stands for the caches of the
    machine. Without one, those are chosen that need it, and the plan names them.
    """
    hierarchy = _hierarchy(host)
    named = _named(host, hierarchy, subject)
    began = time.monotonic()
    first = count_memory_cgroups(host)
    if not named and first.dying <= noise_floor(host):
        few = f"{first.dying} zombie memory cgroups, not more than cores keep by themselves"
        return Part(seen=(few,))
    holding = read_holding(host, named)
    time.sleep(limit("watch"))
    holding = look_again(host, holding)
    last = count_memory_cgroups(host)
    seconds = time.monotonic() - began
    wanted = named or [*choose_parents(holding, last.dying, noise_floor(host)), ROOT]
    gone = [cgroup for cgroup in wanted if not _exists(host, hierarchy, cgroup)]
    chosen = [cgroup for cgroup in wanted if cgroup in gone or _is_reachable(host, hierarchy, cgroup)]
    if chosen == gone:
        _refuse(hierarchy)
    reached = [cgroup for cgroup in chosen if cgroup != ROOT]
    # How many of them are below one cgroup is not known: there, advice is about all that may hold some.
    among = last.dying if ROOT in chosen else 0
    return Part(
        steps=tuple(
            _drop_caches(host) if cgroup == ROOT else _reclaim(host, hierarchy, cgroup) for cgroup in chosen
        ),
        by_hand=(*advise_cordon(host), *advise(host, holding, reached, among)),
        assumptions=(Assumption("memory cgroups", f"cgroup v{hierarchy.version} at {hierarchy.mount}"),),
        warnings=(
            *_warnings(last.dying - first.dying, seconds, holding),
            *_not_reachable(wanted, chosen),
            *(f"there is no memory cgroup {cgroup} now: its step will do nothing" for cgroup in gone),
        ),
        seen=tuple(_seen(host, last, holding, chosen)),
        subject=" ".join(chosen),
    )


def _hierarchy(host: Host) -> Hierarchy:
    if not host.is_live:
        raise CannotLookError("an image has no memory cgroups", hint="run it on the machine itself")
    return memory_hierarchy(host)


def _named(host: Host, hierarchy: Hierarchy, subject: str) -> list[str]:
    """The cgroups that a subject names, in its order; the root last.

    One of several may be gone: a plan names those of its day, and pods come and go until it is carried out.
    """
    paths = dict.fromkeys("/" + word.strip("/") for word in subject.split())
    missing = [path for path in paths if not _exists(host, hierarchy, path)]
    outside = [path for path in missing if ".." in path.split("/")]
    if outside or (missing and len(missing) == len(paths)):
        hint = f"name one as it is below {hierarchy.mount}: /pods"
        raise UsageError(f"there is no memory cgroup {' '.join(outside or missing)}", hint=hint)
    return sorted(paths, key=lambda path: path == ROOT)


def _exists(host: Host, hierarchy: Hierarchy, cgroup: str) -> bool:
    if ".." in cgroup.split("/"):  # it would lead out of the hierarchy
        return False
    return host.path(f"{hierarchy.mount}{cgroup}/cgroup.procs").exists()


def _is_reachable(host: Host, hierarchy: Hierarchy, cgroup: str) -> bool:
    if cgroup == ROOT:
        return _is_writable(host, DROP_CACHES_FILE)
    return _is_writable(host, f"{hierarchy.mount}{cgroup}/{RECLAIM_FILES[hierarchy.version]}")


def _is_writable(host: Host, name: str) -> bool:
    """Whether root can write a file; anybody may plan."""
    try:
        place = host.path(name)
        is_read_only = bool(os.statvfs(place).f_flag & os.ST_RDONLY)
    except OSError:
        return False
    return not is_read_only and (os.geteuid() != 0 or os.access(place, os.W_OK))


def _refuse(hierarchy: Hierarchy) -> None:
    file = f"{hierarchy.mount}/.../{RECLAIM_FILES[hierarchy.version]}"
    raise CannotLookError(
        f"neither {file} nor {DROP_CACHES_FILE} can be written here",
        hint="run it as root on the host, or in a privileged container with --root /host",
    )


def _reclaim(host: Host, hierarchy: Hierarchy, path: str) -> Step:
    folder = f"{hierarchy.mount}{path}"
    file = f"{folder}/{RECLAIM_FILES[hierarchy.version]}"
    is_first = hierarchy.version == 1
    swapped = "; memory of its processes may go to swap" if has_swap(host) else ""
    return Step(
        action=FORCE_EMPTY.id if is_first else RECLAIM.id,
        target=folder,
        value=force_empty.VALUE if is_first else reclaim.VALUE,
        command=f"sync; {shell_command(['echo', '0' if is_first else '1G'], into=file)}",
        why="page cache may hold removed children of this cgroup; left out where it holds none by then",
        risk=f"what runs there is slower until its files are read again{swapped}; {SYNC_RISK}",
        cost="the page cache of all that lives there, and a core while it is reclaimed",
        undo=NO_UNDO,
    )


def _drop_caches(host: Host) -> Step:
    # Slab holds no cgroup where the kernel hands it to the parent: to drop it as well would only cost.
    slab = slab_holds_zombies(host)
    also = " and slab, which this kernel leaves to removed cgroups," if slab else ""
    return Step(
        action=DROP_CACHES.id,
        target=DROP_CACHES_FILE,
        value=CACHES[slab],
        command=f"sync; {shell_command(['echo', '3' if slab else '1'], into=DROP_CACHES_FILE)}",
        why=f"page cache{also} may hold removed cgroups whose parent is the root or not known; left out where"
        " few are left by then, or it would free next to none",
        risk=f"every program on the node is slower until its files are in memory again; {SYNC_RISK}",
        cost="the page cache of the whole node is cold",
        undo=NO_UNDO,
    )


def _warnings(added: int, seconds: float, holding: Holding) -> Iterator[str]:
    if added >= limit("leak"):
        yield (
            f"the leak goes on: {added} zombies were added in {seconds:.0f} s. Unless a step before"
            " the purge stops it, they come again (necroscope zombies --by unit says by whom)"
        )
    if holding.not_known:
        yield f"who holds them is not known by name: {holding.not_known}"
    elif not holding.parents:
        yield "what holds them is not known: no cgroup shows memory of removed children beyond the error"
    if holding.holders and holding.holders.stopped_early:
        yield f"the search for holders was stopped after {holding.holders.seconds:.1f} s: there may be more"


def _not_reachable(wanted: Sequence[str], chosen: Sequence[str]) -> Iterator[str]:
    for cgroup in wanted:
        if cgroup not in chosen:
            what = DROP_CACHES_FILE if cgroup == ROOT else f"the reclaim of {cgroup}"
            yield f"{what} cannot be written here: what it would free stays"


def _seen(host: Host, count: HierarchyCount, holding: Holding, chosen: Sequence[str]) -> Iterator[str]:
    yield f"{count.dying:,} zombies of {count.tracked:,} memory cgroups ({count.hierarchy})"
    for parent in holding.parents:
        many = f"{parent.zombies:,} zombies" if parent.zombies is not None else "zombies"
        kinds = kinds_text(parent)
        yield f"{many} below {parent.cgroup}" + (f" hold {kinds}" if kinds else "")
    if named := held_by(holding):
        yield f"held by: {named}"
    if programs := programs_hold(holding, [cgroup for cgroup in chosen if cgroup != ROOT]):
        yield programs
    yield from _left_out(host, count.dying, holding, chosen)
    if (unwritten := unwritten_bytes(host)) is not None:
        yield f"{bytes_text(unwritten)} are dirty or being written: sync waits for that"


def _left_out(host: Host, zombies: int, holding: Holding, chosen: Sequence[str]) -> Iterator[str]:
    """What is not done, as far as it is known now, and why."""
    if ROOT in chosen and (why := too_few_to_drop(host, holding, zombies)):
        yield f"drop-caches will be left out: {why}"
    unexplained = most_by_page_cache(holding, zombies)
    for parent in holding.parents:
        is_reached = any(is_below(parent.cgroup, cgroup) for cgroup in chosen if cgroup != ROOT)
        if parent.cgroup != ROOT and not is_reached and (most := most_below(parent, unexplained)):
            yield f"{parent.cgroup} is left alone: its page cache holds at most {most:,} zombies"


def unwritten_bytes(host: Host) -> int | None:
    """Dirty pages, and those being written; None where it cannot be read."""
    sizes = dict(re.findall(r"^(\w+): +(\d+) kB$", host.read("/proc/meminfo").value or "", re.MULTILINE))
    if not {"Dirty", "Writeback"} <= sizes.keys():
        return None
    return (int(sizes["Dirty"]) + int(sizes["Writeback"])) * 1024


def has_swap(host: Host) -> bool:
    """Whether memory of processes can be put anywhere."""
    return len((host.read("/proc/swaps").value or "").splitlines()) > 1


def slab_holds_zombies(host: Host) -> bool:
    """Whether slab of a removed cgroup keeps it: before Linux 5.9, which hands it to the parent.

    What came or went with that shows it: v1 lists a cgroup's slab caches no more (memory.kmem.slabinfo is
    empty, later gone), v2 counts per-CPU memory in memory.stat.
    """
    hierarchy = find_hierarchy(host, "memory").value
    if not hierarchy:
        return False
    folders = [f"{hierarchy.mount}/{name}" for name in host.names(hierarchy.mount).value or ()]
    if hierarchy.version == 1:
        lists = (f"{folder}/memory.kmem.slabinfo" for folder in folders[:MOST_LOOKED_AT])
        return any(host.read(name).value for name in lists)
    stats = (text for folder in folders if (text := host.read(f"{folder}/memory.stat").value))
    return not re.search(r"^percpu ", next(stats, "percpu "), re.MULTILINE)


def _why_not_reclaimed(_host: Host, subject: str, step: Step, _before: State) -> str:
    is_named = any(step.target.endswith(cgroup) for cgroup in subject.split() if cgroup != ROOT)
    return "" if is_named else f"{step.target} is none of {subject}"


def _why_not_dropped(_host: Host, subject: str, _step: Step, _before: State) -> str:
    return "" if ROOT in subject.split() else f"the caches of the machine are none of {subject}"


PURGE_ZOMBIES = Remedy(
    ids.PURGE_ZOMBIES,
    plan_purge_zombies,
    {FORCE_EMPTY.id: _why_not_reclaimed, RECLAIM.id: _why_not_reclaimed, DROP_CACHES.id: _why_not_dropped},
)
