"""What can be asked of a real incident once it is over: its diagnosis, and a report of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lab.faults.zombie_walks import FUNCTIONS
from lab.running.needs import lacks
from lab.running.outcome import Outcome
from lab.running.outcome_text import outcome_text
from lab.running.run import run
from lab.running.scenario import all_scenarios
from lab.running.stage import Stage
from tests.cli.report.html_pages import Page
from tests.real.recorders import ask

SCENARIO = all_scenarios()["starved-core"]
REASON = "; ".join(map(str, lacks(SCENARIO.needs)))
pytestmark = pytest.mark.skipif(bool(REASON), reason=REASON)


@dataclass(frozen=True, slots=True)
class Played:
    """The incident, played once."""

    outcome: Outcome
    store: Path
    made: dict[str, Any]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    stage = Stage(folder=tmp_path_factory.mktemp("starved-core"))
    outcome = run(SCENARIO, stage)
    return Played(outcome, stage.store, stage.results.get("made", {}))


def test_the_chain_goes_from_the_leaking_unit_to_the_stalled_queue(played: Played) -> None:
    assert played.outcome.is_as_expected, outcome_text(played.outcome)


def test_a_report_of_it_has_the_chain_and_both_flame_graphs(played: Played, tmp_path: Path) -> None:
    file = tmp_path / "incident.html"
    body = ask("report", "--store", str(played.store), "-o", str(file))
    page = Page(file.read_text())
    assert page.faults == [] and page.fetched == []
    assert page.tags["svg"] == page.tags["figure"] == 2
    assert {"flame-1-frames", "flame-2-frames"} <= set(page.ids)
    text = " ".join(page.text)
    assert played.made["unit"] in text and "Ruled out" in text
    sections = {section["id"]: section["blocks"] for section in body["sections"]}
    for graph in (block for block in sections["flames"] if block["kind"] == "figure"):
        assert played.made["process"] in graph["text"]
        assert any(function in graph["text"] for function in FUNCTIONS)
    assert any(played.made["unit"] in json.dumps(block) for block in sections["zombies"])
