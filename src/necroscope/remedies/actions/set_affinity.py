"""Let an interrupt fire on other cores: /proc/irq/N/smp_affinity_list.

Target   its number and name: 38 eth0-Tx-Rx-3
Value    a list of cores as the kernel writes it

Numbers are given anew at every boot, and when a driver is loaded again: one that has another name by now is
not touched.
"""

from __future__ import annotations

import errno
import re

from necroscope.errors import ChangeError
from necroscope.model.fix import State
from necroscope.model.plan import Step
from necroscope.remedies.actions.action import Action
from necroscope.remedies.actions.record_rules import why_not_live, why_other_keys
from necroscope.sources.host import MOST_CORES, Host, parse_core_list
from necroscope.sources.interrupts import open_interrupts
from necroscope.sources.nic_queues import effective_cores

ALLOWED = "allowed"
TARGET = re.compile(r"\d{1,7} .{1,200}")
MANAGED = (errno.EIO, errno.EPERM)  # how the kernel refuses to move an interrupt that it manages itself


def _look(host: Host, step: Step) -> State:
    return {ALLOWED: _allowed(host, _irq(host, step))}


def _do(host: Host, step: Step) -> str:
    irq = _irq(host, step)
    if not _is_same(_allowed(host, irq), step.value):
        _write(host, irq, step.value)
    if set(effective_cores(host, irq)) <= set(parse_core_list(step.value)):
        return f"it fires on core {step.value}"
    return f"it will fire on core {step.value} from its next interrupt on"


def _check(host: Host, step: Step) -> str:
    # Not where it fires: an idle queue's interrupt moves when it fires next.
    return _difference(host, step, step.value)


def _undo(host: Host, step: Step, before: State) -> None:
    irq = _irq(host, step)
    if _allowed(host, irq) != before[ALLOWED]:
        _write(host, irq, before[ALLOWED])


def _check_undone(host: Host, step: Step, before: State) -> str:
    return _difference(host, step, before[ALLOWED])


def _difference(host: Host, step: Step, wanted: str) -> str:
    allowed = _allowed(host, _irq(host, step))
    if _is_same(allowed, wanted):
        return ""
    return f"interrupt {step.target} may fire on the cores {allowed}, not {wanted}"


def _irq(host: Host, step: Step) -> int:
    """The number, if it still belongs to the same device."""
    number, _, name = step.target.partition(" ")
    irq = int(number)
    interrupts = open_interrupts(host)().value or ()
    if not any(interrupt.irq == irq and interrupt.name == name for interrupt in interrupts):
        raise ChangeError(f"there is no interrupt {step.target} any more")
    return irq


def _allowed(host: Host, irq: int) -> str:
    text = host.word(_file(irq))
    if not text:
        raise ChangeError(f"{_file(irq)} cannot be read")
    return text


def _is_same(one: str, other: str) -> bool:
    return set(parse_core_list(one)) == set(parse_core_list(other))


def _write(host: Host, irq: int, cores: str) -> None:
    try:
        host.path(_file(irq)).write_text(f"{cores}\n")
    except OSError as error:
        if error.errno in MANAGED:
            raise ChangeError(f"the kernel lets nobody move interrupt {irq}: it manages it itself") from error
        raise


def _file(irq: int) -> str:
    return f"/proc/irq/{irq}/smp_affinity_list"


def _why_not_ours(host: Host, step: Step, before: State) -> str:
    """Only lists of cores of an interrupt: the file is found by its number, and belongs to the kernel."""
    if not TARGET.fullmatch(step.target) or not step.target.isprintable():
        return f"{step.target[:80]!r} is not an interrupt"
    if why := why_not_live(host) or why_other_keys(before, [ALLOWED]):
        return why
    strange = [text for text in (step.value, before[ALLOWED]) if not _is_core_list(text)]
    return f"{strange[0][:80]!r} is not a list of cores" if strange else ""


def _is_core_list(text: str) -> bool:
    """Whether the kernel may have written it: ascending, so that it is not much longer when it is parsed."""
    if not re.fullmatch(r"\d{1,5}(?:[,-]\d{1,5})*", text, re.ASCII):
        return False
    bounds = [int(bound) for part in text.split(",") for bound in part.split("-")]
    return bounds == sorted(bounds) and bounds[-1] < MOST_CORES


SET_AFFINITY = Action("set-affinity", _look, _do, _check, _undo, _check_undone, _why_not_ours)
