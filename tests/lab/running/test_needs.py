"""What is missing is told, each with what to do; without root nothing else can be told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lab.running import needs
from lab.running.needs import NEEDS, lacks
from lab.running.scenario import all_scenarios


def without(monkeypatch: pytest.MonkeyPatch, id: str, why: str) -> None:
    monkeypatch.setitem(needs.NEEDS, id, replace(NEEDS[id], why_not=lambda: why))


def test_without_root_only_that_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "root", "not root")
    without(monkeypatch, "disk", "needs root")
    (lack,) = lacks(["disk", "root"])
    assert (lack.need, lack.why) == ("root", "not root; what else is missing shows with root")
    assert [lack.need for lack in lacks(["disk"])] == ["disk"], "a scenario that does without it"


def test_with_root_all_that_is_missing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(needs.NEEDS, "root", replace(NEEDS["root"], why_not=lambda: None))
    without(monkeypatch, "disk", "it is a tmpfs")
    without(monkeypatch, "ray", "it is not installed")
    assert [str(lack) for lack in lacks(["root", "disk", "ray"])] == [
        "disk: it is a tmpfs (mount one there)",
        "ray: it is not installed (make .venv/packages-lab)",
    ]


def test_every_need_of_a_scenario_is_known() -> None:
    assert not [need for one in all_scenarios().values() for need in one.needs if need not in NEEDS]
