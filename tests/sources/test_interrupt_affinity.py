from __future__ import annotations

from pathlib import Path

import pytest

from necroscope.model.reading import Absence
from necroscope.sources.host import Host, parse_core_list
from necroscope.sources.interrupt_affinity import (
    InterruptAffinity,
    cores_kept_free,
    format_core_list,
    read_interrupt_affinity,
)


def interrupt(root: Path, *, node: str = "0", mode: int = 0o644, effective: str | None = "3") -> Host:
    folder = root / "proc/irq/38"
    folder.mkdir(parents=True)
    (folder / "smp_affinity_list").write_text("0-3,8\n")
    (folder / "smp_affinity_list").chmod(mode)
    (folder / "node").write_text(f"{node}\n")
    if effective is not None:
        (folder / "effective_affinity_list").write_text(f"{effective}\n")
    return Host(root)


def test_an_interrupt_has_cores_that_it_may_and_one_that_it_does_fire_on(tmp_path: Path) -> None:
    affinity = read_interrupt_affinity(interrupt(tmp_path), 38).value
    assert affinity == InterruptAffinity(38, (0, 1, 2, 3, 8), (3,), node=0, is_writable=True)
    assert affinity.fires_on(3) and not affinity.fires_on(0)


def test_a_managed_one_cannot_be_written_and_minus_one_is_no_node(tmp_path: Path) -> None:
    affinity = read_interrupt_affinity(interrupt(tmp_path, node="-1", mode=0o444), 38).value
    assert affinity and not affinity.is_writable and affinity.node is None


def test_before_linux_4_15_it_may_fire_wherever_it_is_allowed_to(tmp_path: Path) -> None:
    affinity = read_interrupt_affinity(interrupt(tmp_path, effective=None), 38).value
    assert affinity and affinity.effective == affinity.allowed and affinity.fires_on(8)


def test_an_interrupt_that_is_gone_is_an_absence(tmp_path: Path) -> None:
    assert read_interrupt_affinity(interrupt(tmp_path), 39).absence is Absence.NOT_SUPPORTED


@pytest.mark.parametrize("text", ["", "(null)", "1-2"])
def test_lists_of_cores_that_are_kept_free_may_be_empty(tmp_path: Path, text: str) -> None:
    folder = tmp_path / "sys/devices/system/cpu"
    folder.mkdir(parents=True)
    (folder / "isolated").write_text("7\n")
    (folder / "nohz_full").write_text(f" {text}\n")
    assert cores_kept_free(Host(tmp_path)) == {7} | ({1, 2} if "1" in text else set())


@pytest.mark.parametrize("text", ["0", "0-3", "0-3,8", "1,3,5-6,95"])
def test_lists_are_written_as_the_kernel_writes_them(text: str) -> None:
    assert format_core_list(reversed(parse_core_list(text))) == text
