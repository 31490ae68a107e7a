"""A real loop on one real core."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest

from lab.faults.hogs import kernel_hog, user_hog
from tests.real.conftest import evidence, findings

pytestmark = pytest.mark.skipif(
    len(os.sched_getaffinity(0)) < 2, reason="needs two cores: one to keep busy, one to look from"
)
Doctor = Callable[..., dict[str, Any]]


def keep_busy(
    hog: Callable[[int], AbstractContextManager[int]], core: int, seconds: float
) -> threading.Thread:
    def work() -> None:
        with hog(core):
            time.sleep(seconds)

    thread = threading.Thread(target=work)
    thread.start()
    return thread


def cores_of(finding: dict[str, Any]) -> list[str]:
    """Return the CPUs that a finding is about; work of somebody else may fill the other one, too."""
    facts = evidence(finding)
    return str(facts.get("cores", facts.get("core"))).split(",")


@pytest.mark.parametrize("core", [0, 1])
def test_four_seconds_in_the_kernel_name_the_core_and_the_share(doctor: Doctor, core: int) -> None:
    hog = keep_busy(kernel_hog, core, 4)
    body = doctor("-d", "6s")
    hog.join()
    found = [f for f in findings(body, "core-saturated") if f["severity"] != "info"]
    facts = {evidence(finding)["core"]: evidence(finding) for finding in found}
    assert core in facts, body["seen"]
    assert facts[core]["system share"] > 0.8
    assert 2.5 <= facts[core]["consecutive seconds"] <= 5.5
    assert any(name.startswith("share of dd (pid ") for name in facts[core])
    assert 1 - core not in facts, "the other core is not accused"


def test_a_user_space_loop_is_reported_as_what_it_is(doctor: Doctor) -> None:
    hog = keep_busy(user_hog, 1, 5)
    body = doctor("-d", "6s")
    hog.join()
    (finding,) = [f for f in findings(body, "core-saturated") if "1" in cores_of(f)]
    assert finding["severity"] == "info"
    assert "user-space" in finding["summary"]
    assert evidence(finding)["user share"] > 0.9
    assert findings(body, "softirq-starved") == []
