from __future__ import annotations

import pytest

from necroscope.diagnosis.zombies.zombie_memory import measured_percpu, percpu_estimate, zombie_memory
from necroscope.signals.cgroup_counts import Count


def counted(tracked: int, percpu_bytes: int) -> Count:
    return Count(0, tracked, 0, 0, percpu_bytes)


def test_a_recording_that_grew_measures_it() -> None:
    counts = [counted(100 + 50 * n, 3_000_000 + 4096 * 50 * n) for n in range(20)]
    found = zombie_memory(1000, counts, "6.18.44", 2)
    assert found and found.how == "measured"
    assert found.percpu_bytes_each == pytest.approx(4096)
    assert found.total_bytes == pytest.approx(1000 * (4096 + 11_300))


def test_pages_that_got_free_are_used_again_and_do_not_hide_it() -> None:
    """Up, a purge that gives nothing back, up again into the same pages, and beyond."""
    grown = [3_000_000 + 4096 * 100 * n for n in range(40)]
    up = [counted(100 + 100 * n, grown[n]) for n in range(20)]
    again = [counted(100 + 100 * n, max(grown[19], grown[n])) for n in range(40)]
    found = measured_percpu([*up, *again])
    assert found and found.value == pytest.approx(4096, rel=0.01)


def test_a_recording_that_hardly_moved_does_not() -> None:
    assert measured_percpu([counted(100 + n, 3_000_000 + 4096 * n) for n in range(400)]) is None
    assert measured_percpu([counted(100 + 600 * n, 3_000_000) for n in range(20)]) is None
    assert measured_percpu([]) is None


@pytest.mark.parametrize(
    ("kernel", "cores", "kilobytes"),
    [("5.4.0-99-generic", 96, 264), ("5.15.0-1", 96, 305), ("6.8.0", 96, 224)],
)
def test_the_estimate_is_what_was_measured_with_96_cores(kernel: str, cores: int, kilobytes: int) -> None:
    found = zombie_memory(70_000, [], kernel, cores)
    assert found and found.how == "estimated"
    assert found.bytes_each == pytest.approx(kilobytes * 1000, rel=0.05)


def test_a_kernel_takes_the_number_of_the_last_one_measured_before_it() -> None:
    assert percpu_estimate("5.10.0-8-amd64") == percpu_estimate("5.8.0")
    assert percpu_estimate("7.3.1") == percpu_estimate("6.17.0")


@pytest.mark.parametrize(("kernel", "cores"), [("4.15.0-213-generic", 96), ("", 96), ("6.8.0", 0)])
def test_nothing_is_said_where_nothing_is_known(kernel: str, cores: int) -> None:
    assert zombie_memory(1000, [], kernel, cores) is None
