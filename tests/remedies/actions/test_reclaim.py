"""What the kernel really does is shown in guests: tests/real/test_purge_kernels.py."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from necroscope.model.plan import Step
from necroscope.remedies.actions import reclaim
from necroscope.sources.host import Host


class Kernel:
    """A memory.reclaim that answers with an error to some words."""

    def __init__(self, refusals: dict[str, int]) -> None:
        self.refusals = refusals
        self.asked: list[str] = []

    def write_text(self, words: str) -> None:
        self.asked.append(words)
        for part, number in self.refusals.items():
            if part in words:
                raise OSError(number, "refused")


def ask(kernel: Kernel) -> bool:
    return reclaim._ask(kernel, 4096)  # type: ignore[arg-type]


def test_memory_of_processes_is_left_alone_where_the_kernel_can_be_told() -> None:
    kernel = Kernel({})
    assert ask(kernel)
    assert kernel.asked == ["4096 swappiness=0"]


def test_an_older_kernel_is_asked_in_its_own_words() -> None:
    kernel = Kernel({"swappiness": errno.EINVAL})
    assert ask(kernel)
    assert kernel.asked == ["4096 swappiness=0", "4096"]


def test_less_than_asked_is_no_failure() -> None:
    assert not ask(Kernel({"4096": errno.EAGAIN}))


def test_another_error_is() -> None:
    with pytest.raises(OSError, match="refused"):
        ask(Kernel({"4096": errno.EACCES}))


def test_nothing_is_asked_for_without_zombies(tmp_path: Path) -> None:
    (tmp_path / "pods").mkdir()
    (tmp_path / "pods/cgroup.stat").write_text("nr_descendants 0\nnr_dying_descendants 0\n")
    (tmp_path / "pods/memory.reclaim").write_text("")
    step = Step(reclaim.RECLAIM.id, "/pods", "in portions", "", "", "", "", "")
    reclaim._let_go(Host(tmp_path), step)
    assert (tmp_path / "pods/memory.reclaim").read_text() == ""
    (tmp_path / "pods/cgroup.stat").write_text("nr_descendants 0\nnr_dying_descendants 7\n")
    reclaim._let_go(Host(tmp_path), step)
    assert "swappiness=0" in (tmp_path / "pods/memory.reclaim").read_text()
