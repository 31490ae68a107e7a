"""Play one scenario: fit, before, play, expect, undo, after.

    outcome = run(all_scenarios()["pinterest"], Stage(folder=Path("build/lab/pinterest")))

In the folder of the run are transcript.txt (what was told), results.json, failure.txt if it failed, in the
end outcome.json, and whatever the scenario left there. Needs the main thread, because it takes the signals
that ask for an end.
"""

from __future__ import annotations

import json
import time
import traceback
from pathlib import Path

from lab.machines.tracefs import tracefs_mounted
from lab.running.differences import Before
from lab.running.expectation import Check, check
from lab.running.interruptions import Interrupted, Interruptions, interruptions
from lab.running.killed_runs import clean_after_killed_runs, noted
from lab.running.machine_state import read_machine_state
from lab.running.needs import lacks
from lab.running.outcome import Outcome
from lab.running.outcome_text import outcome_document
from lab.running.processes import marked, own_mark
from lab.running.scenario import Scenario
from lab.running.stage import Stage
from lab.running.transcript import transcript

OUTCOME = "outcome.json"
GIVEN = "kernels"  # the need that a kernel on the command line meets


def run(scenario: Scenario, stage: Stage) -> Outcome:
    """What came of it. Whatever happens, what the scenario made is undone."""
    began = time.monotonic()
    needs = (id for id in scenario.needs if not (stage.kernel and id == GIVEN))
    missing = tuple(str(one) for one in lacks(needs))
    if missing:
        return Outcome(scenario.id, stage.folder, 0.0, unfit=missing)
    stage.folder.mkdir(parents=True, exist_ok=True)
    (stage.folder / OUTCOME).unlink(missing_ok=True)  # that of an earlier run says nothing of this one
    with transcript(stage), interruptions(stage.tell) as signals, tracefs_mounted():
        clean_after_killed_runs(stage.tell)
        before = Before(read_machine_state(), own_mark(), stage.folder)
        with noted(before), marked(before.mark):
            failure = _play(scenario, stage, signals)
        (stage.folder / "results.json").write_text(json.dumps(stage.results, indent=1))
        stage.tell("comparing the machine with what it was before")
        differences = before.settled(lambda: signals.is_repeated)
    outcome = Outcome(
        scenario.id,
        stage.folder,
        time.monotonic() - began,
        checks=() if failure else _checks(scenario, stage),
        not_run=(*stage.not_run.items(), *((part, "left out on request") for part in stage.without)),
        stand_ins=tuple(stage.stand_ins),
        left_behind=differences.all_left,
        also_changed=differences.others,
        failure=failure,
        is_interrupted=bool(signals.signal),
    )
    (stage.folder / OUTCOME).write_text(json.dumps(outcome_document(outcome), indent=1))
    return outcome


def _play(scenario: Scenario, stage: Stage, signals: Interruptions) -> str:
    """What ended it early; empty if nothing did."""
    try:
        signals.play(lambda: scenario.play(stage))
    except Interrupted as interrupted:
        return f"interrupted by {interrupted}"
    # Whatever a scenario raises is an outcome: the machine is compared, and the next scenario played.
    except (Exception, SystemExit) as error:  # noqa: BLE001
        (stage.folder / "failure.txt").write_text(traceback.format_exc())
        return f"{type(error).__name__}: {error} ({_where(error, scenario.folder)})"
    return ""


def _where(error: BaseException, folder: Path) -> str:
    """The last line of the scenario itself that led there, or of anything."""
    frames = traceback.extract_tb(error.__traceback__)
    last = next((one for one in reversed(frames) if Path(one.filename).is_relative_to(folder)), frames[-1])
    return f"{Path(last.filename).name}:{last.lineno}"


def _checks(scenario: Scenario, stage: Stage) -> tuple[Check, ...]:
    left_out = {*stage.not_run, *stage.without}
    return tuple(check(one, stage.results) for one in scenario.expectations if one.part not in left_out)
