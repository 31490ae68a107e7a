"""What the kernels scenario makes of its probes: nothing passes because nothing was looked at."""

from __future__ import annotations

from typing import Any

from lab.scenarios.kernels.judging import JUDGED, MUST_HOLD, leaves_zombies, where_not


def probed(**counts: int) -> dict[str, Any]:
    """A machine with so many zombies, by each method, and nothing else that was asked."""
    return {"left": 500, "counts": {method: {"count": count} for method, count in counts.items()}}


def test_where_nothing_was_probed_nothing_is_as_expected() -> None:
    assert where_not({})[JUDGED] == ["no machine was probed"]
    without = {"given-v1": {"no_memory_cgroups": "none"}, "given-v2": {"no_memory_cgroups": "none"}}
    assert where_not(without)[JUDGED] == ["given-v1", "given-v2"]
    assert where_not({**without, "given-v2": probed(source=0, proc_cgroups=0)})[JUDGED] == []


def test_a_program_that_counts_nothing_does_not_make_the_kernel_one_without_zombies() -> None:
    found = probed(source=0, proc_cgroups=500)
    assert leaves_zombies(found)
    assert where_not({"here": found})["the program counts the zombies"] == ["here"]
    assert not leaves_zombies(probed(source=500, proc_cgroups=3))


def test_what_a_machine_did_not_give_does_not_hold() -> None:
    found = probed(source=500, proc_cgroups=500) | {"ledger": {"absent": "no tracefs"}}
    wrong = {what for what, where in where_not({"here": found}).items() if where}
    assert wrong == set(MUST_HOLD) - {"the program counts the zombies"}
