from __future__ import annotations

import pytest

from necroscope.model.reading import Absence
from necroscope.sources.pressure import PRESSURE, Pressure, Stall, parse_stall
from tests.sources.conftest import Tree

SOME = "some avg10=3.47 avg60=0.83 avg300=0.18 total=663264\n"
FULL = "full avg10=0.00 avg60=0.00 avg300=0.00 total=14\n"
FILES = {f"/proc/pressure/{name}": SOME + FULL for name in ("cpu", "io", "memory")}


def test_linux_6_1_has_all_lines(tree: Tree) -> None:
    host = tree({**FILES, "/proc/pressure/irq": FULL})
    stall = Stall(some_us=663264, full_us=14)
    assert PRESSURE.open(host)().value == Pressure(stall, stall, stall, irq=Stall(None, 14))


def test_linux_5_10_has_no_full_line_for_cpu_and_no_irq(tree: Tree) -> None:
    pressure = PRESSURE.open(tree({**FILES, "/proc/pressure/cpu": SOME}))().value
    assert pressure
    assert pressure.cpu == Stall(663264, None)
    assert pressure.irq is None


@pytest.mark.parametrize(("resource", "text"), [("io", SOME), ("memory", SOME), ("cpu", FULL), ("irq", SOME)])
def test_a_line_that_every_kernel_writes_is_missing(resource: str, text: str) -> None:
    with pytest.raises(ValueError, match="no line of"):
        parse_stall(resource, text)


@pytest.mark.parametrize(
    "text", ["\n", "some\n", "some avg10=0.00\n", "some avg10 total=1\n", "some total=x\n"]
)
def test_lines_that_no_kernel_writes(text: str) -> None:
    with pytest.raises((ValueError, KeyError)):
        parse_stall("cpu", text)


@pytest.mark.parametrize("irq", [b"\xff\xfe\x00", "", SOME])
def test_a_bad_irq_file_is_unknown_and_not_zero(tree: Tree, irq: str | bytes) -> None:
    pressure = PRESSURE.open(tree({**FILES, "/proc/pressure/irq": irq}))().value
    assert pressure
    assert pressure.irq is None


def test_without_psi_there_is_no_folder(tree: Tree) -> None:
    reading = PRESSURE.open(tree({"/proc": None}))()
    assert reading.absence is Absence.NOT_SUPPORTED
    assert "psi=1" in PRESSURE.hint(reading.absence)
