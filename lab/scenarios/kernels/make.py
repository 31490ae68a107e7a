"""Probe every kernel, two guests at a time, and write the table."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from lab.machines.kernels import KernelError
from lab.running.stage import Stage
from lab.scenarios.kernels.judging import growing_reads, leaves_zombies, methods, pins_told, where_not
from lab.scenarios.kernels.machines import HERE, Probed, machines, probing, result_of
from lab.scenarios.kernels.page import kernels_page

AT_ONCE = 2  # a guest waits a third of its time


def play(stage: Stage) -> None:
    """Boot, probe, judge, write kernels.md into the folder of the run."""
    stage.stand_in("the driver's line in the kernel log of a guest: written by the probe, as ENA writes it")
    wanted = [one for one in machines(stage.kernel) if one.id not in stage.without]
    for one in machines(None) if stage.kernel else ():
        stage.leave_out(one.id, "another kernel was given")
    guests = [one for one in wanted if one.is_guest]
    found: dict[str, Any] = {}
    for begin in range(0, len(guests), AT_ONCE):
        found |= _probe(stage, guests[begin : begin + AT_ONCE])
    if HERE in wanted:  # alone: its times are compared with nothing else running
        found |= _probe(stage, [HERE])
    stage.results.update(
        date=time.strftime("%Y-%m-%d", time.gmtime()),
        machines=found,
        names={one.id: one.name for one in wanted if one.id in found},
        where_not=where_not(found),
    )
    (stage.folder / "kernels.md").write_text(kernels_page(stage.results))


def _probe(stage: Stage, some: Sequence[Probed]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    with ExitStack() as stack:
        stage.tell(f"probing {' and '.join(one.name for one in some)}")
        running = [(one, stack.enter_context(probing(one))) for one in some]
        for one, process in running:
            try:
                found[one.id] = _judged(result_of(process))
            except KernelError as error:
                stage.leave_out(one.id, str(error))
    return found


def _judged(found: dict[str, Any]) -> dict[str, Any]:
    if not leaves_zombies(found):
        return found
    judged = {
        "counted_right": methods(found, right=True),
        "counted_wrong": methods(found, right=False),
        "pins_told": pins_told(found),
        "growing_reads": growing_reads(found),
    }
    return {**found, "judged": judged}
