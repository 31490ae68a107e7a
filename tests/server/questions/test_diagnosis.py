from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest

from necroscope.cli.main import main
from necroscope.diagnosis.diagnose_range import explain
from necroscope.model.advice import Advice, fix_command
from necroscope.model.diagnosis import Diagnosis
from necroscope.model.plan import Treatment
from necroscope.model.reading import Absence, Reading
from necroscope.server.questions import diagnosis as question
from necroscope.server.questions import recorded_store
from necroscope.server.questions.diagnosis import ask_diagnosis
from necroscope.server.questions.explained import plan_steps
from necroscope.server.questions.recorded_store import RecordedStore
from necroscope.sources.cores import CORES, Cores
from necroscope.store.stored_events import EVENTS
from tests.diagnosis.scenes import HELD_BACK
from tests.server.questions.recorded_incident import (
    BEGIN_US,
    MOMENTS,
    RESET,
    RESET_ID,
    incident_moments,
    recorded_incident,
    seconds,
)
from tests.stored import event_of, moment_of, sealed_segment, seconds_of

EMPTY = Diagnosis("x", "x", "x", (), (), None, (), (), (), ())


@pytest.mark.parametrize("is_open", [True, False])
def test_the_chain_and_the_seconds_to_look_at(tmp_path: Path, is_open: bool) -> None:
    answer = ask_diagnosis(RecordedStore(recorded_incident(tmp_path, is_open=is_open)), seconds(0, 40))
    assert answer.level == "trouble" and answer.core == 0
    assert answer.symptom and (answer.symptom.id, answer.symptom.core) == (RESET_ID, 0)
    assert answer.moment_end_us == BEGIN_US + 28_000_000
    assert answer.moment_begin_us == BEGIN_US + 22_900_000  # it stalled for 5.1 s
    (link,) = answer.chain
    assert (link.strength, link.begin_us, link.end_us) == (
        "strong",
        answer.moment_begin_us,
        answer.moment_end_us,
    )
    line = next(row for row in link.evidence if row.unit == "line")
    assert (line.text, line.moment_us) == (RESET.text, answer.moment_end_us)
    assert next(row.text for row in link.evidence if row.unit == "ratio").endswith("%")
    assert answer.missing and answer.ruled_out and answer.plan


def test_it_says_what_the_verb_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = ask_diagnosis(RecordedStore(recorded_incident(tmp_path)), seconds(0, 41))
    assert main(["diagnose", "--store", str(tmp_path), "--json"]) == 1
    said = json.loads(capsys.readouterr().out)["diagnosis"]
    assert answer.verdict == said["verdict"]
    assert [link.cause for link in answer.chain] == [link["cause"] for link in said["chain"]]
    assert answer.missing == said["missing"]
    assert [row.reason for row in answer.not_checked] == [row["reason"] for row in said["not_checked"]]


def test_a_quiet_time_is_healthy(tmp_path: Path) -> None:
    answer = ask_diagnosis(RecordedStore(recorded_incident(tmp_path)), seconds(0, 15))
    assert answer.level == "healthy" and answer.verdict.startswith("nothing to explain")
    assert (answer.symptom, answer.moment_begin_us, answer.core) == (None, None, None)


def test_what_is_healthy_by_accident_is_told(tmp_path: Path) -> None:
    moments = incident_moments(["idle"] * 40, held_back=[(HELD_BACK,)] * MOMENTS)
    sealed_segment(tmp_path, moments)
    answer = ask_diagnosis(RecordedStore(tmp_path), seconds(0, 41))
    assert answer.level == "healthy" and "By accident: " in answer.verdict
    assert "ecs.service" in answer.verdict


def test_a_time_in_which_nothing_could_be_seen_is_not_healthy(tmp_path: Path) -> None:
    refused: Reading[Cores] = Reading(absence=Absence.NOT_PERMITTED, detail="/proc/stat")
    sealed_segment(tmp_path, [moment_of(second, {CORES: refused}) for second in range(5)])
    answer = ask_diagnosis(RecordedStore(tmp_path), seconds(0, 5))
    assert answer.level == "unknown" and "nothing could be checked" in answer.verdict
    assert [(row.source, "not permitted" in row.reason) for row in answer.not_checked] == [("cores", True)]


def test_damage_does_not_make_a_time_healthy(tmp_path: Path) -> None:
    sealed = sealed_segment(tmp_path, seconds_of(["system"] * 9), [event_of("nic-reset", 5)])
    (sealed.folder / EVENTS).write_bytes(b"PAR1 and no more")
    answer = ask_diagnosis(RecordedStore(tmp_path), seconds(0, 9))
    assert answer.level == "unknown" and len(answer.damaged) == 1


def test_an_explanation_is_kept_until_there_is_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = RecordedStore(recorded_incident(tmp_path))
    first = ask_diagnosis(store, seconds(0, 40))
    with monkeypatch.context() as patch:
        patch.setattr(question, "explain", lambda *_: pytest.fail("explained again"))
        assert ask_diagnosis(store, seconds(0, 40)) == first
        assert (
            ask_diagnosis(store, seconds(0, 39)).verdict == first.verdict
        )  # another range, the same symptom
    sealed_segment(tmp_path, [moment_of(41, {CORES: ()}), moment_of(42, {CORES: ()})])
    explained = Mock(wraps=explain)
    monkeypatch.setattr(question, "explain", explained)
    ask_diagnosis(RecordedStore(tmp_path), seconds(0, 40))
    monkeypatch.setattr(recorded_store, "LISTED_SECONDS", 0.0)
    ask_diagnosis(store, seconds(0, 40))
    assert explained.call_count == 2


def test_a_plan_has_the_root_first_and_each_command_once() -> None:
    advice = (
        Advice("see the moment", "necroscope flame --around x --cpu 0"),
        Advice("if nothing on this node needs it", "necroscope fix disable-unit ecs.service"),
        Advice("look at the switch"),
        Advice("find out why a: necroscope fix --apply sshd.service is in f"),
    )
    found = replace(EMPTY, advice=advice, treatments=(Treatment("disable-unit", "ecs.service"),))
    assert [(step.text.split(" (")[0][:16], step.command) for step in plan_steps(found)] == [
        ("stop a unit, dis", "necroscope fix disable-unit ecs.service"),
        ("see the moment", "necroscope flame --around x --cpu 0"),
        ("look at the swit", ""),
        ("find out why a: ", ""),
    ]


@pytest.mark.parametrize("name", ["a b; reboot", "$(reboot)", "x`reboot`", "a\nreboot", "a && reboot"])
@pytest.mark.parametrize("shell", ["bash", "sh"])
def test_a_recorded_name_brings_in_no_command(name: str, shell: str) -> None:
    found = replace(
        EMPTY,
        treatments=(Treatment("disable-unit", name),),
        advice=(Advice("stop it", fix_command("disable-unit", name)),),
    )
    called = "necroscope() { echo called; }; reboot() { echo rebooted; }"
    for step in plan_steps(found):
        done = subprocess.run(
            [shell, "-c", f"{called}\n{step.command}"], capture_output=True, text=True, check=False
        )
        assert done.stdout == ("called\n" if step.command else "")
