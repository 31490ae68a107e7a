"""A store with a real incident: the lab's starved core, kept from an earlier run or played now.

`tests/real/test_diagnose.py` plays it too; `scripts/run-tests` keeps that one for the tests of the page.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from lab.running.needs import lacks
from lab.running.outcome_text import outcome_text
from lab.running.run import run
from lab.running.scenario import all_scenarios
from lab.running.stage import Stage
from necroscope.recording.store import Store
from necroscope.recording.stored_events import StoredEvent, find_event

KEPT = "NECROSCOPE_KEPT_INCIDENT"  # the folder of a run of the lab, to save the minute
KEEP = "NECROSCOPE_KEEP_INCIDENT"  # where to put one that is played
TRIES = 2  # whether the lab works is tested elsewhere; another test's load on the same core can spoil a run
SCENARIO = all_scenarios()["starved-core"]


def incident_store(folder: Path) -> Path:
    """The store of the incident; a machine that is not fit for the lab skips what needs it."""
    if kept := os.environ.get(KEPT):
        store = Path(kept) / "store"
        assert store.is_dir(), f"{KEPT}: there is no {store}"
        return store
    if missing := lacks(SCENARIO.needs):
        pytest.skip("; ".join(map(str, missing)))
    for number in range(TRIES):
        stage = Stage(folder=folder / str(number))
        outcome = run(SCENARIO, stage)
        if outcome.is_as_expected:
            return stage.store
    raise AssertionError(outcome_text(outcome))


def keep_incident(store: Path) -> None:
    """Put the store of an incident where it is asked for; a later one takes the place of an earlier one."""
    if keep := os.environ.get(KEEP):
        shutil.rmtree(Path(keep) / "store", ignore_errors=True)
        shutil.copytree(store, Path(keep) / "store")


def event_named(store: Path, id: str) -> StoredEvent:
    """An event of a store by its id."""
    return find_event(Store(store).segments(), id)
