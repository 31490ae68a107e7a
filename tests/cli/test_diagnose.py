"""diagnose as people run it, on a store of known content without samples."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from necroscope.model.reading import Absence, Reading
from necroscope.store.segment import Moment
from tests.cli.conftest import Document, Run
from tests.diagnosis.scenes import HELD_BACK, NIC_LINE, ledger, scene_of, tasks, units, zombies
from tests.segments import BEGIN_NS
from tests.stored import SECOND_NS, UTC_NS, anchor_at, event_of, open_segment, sealed_segment

SECONDS = 40
MOMENTS = SECONDS + 1
FULL = ["idle"] * 20 + ["system"] * 8 + ["idle"] * 12
RESET = replace(NIC_LINE, time_ns=BEGIN_NS + 28 * SECOND_NS, sequence=7)
RESET_ID = "nic-reset-20260415T100028.000Z-7"
RESTART_ID = "unit-restart-20260415T100022.000Z-0"


def moments(**changes: Sequence[Any]) -> tuple[Moment, ...]:
    sources: dict[str, Sequence[Any]] = {
        "zombies": zombies(*[5_000] * MOMENTS),
        "ledger": ledger(*range(0, 100 * MOMENTS, 100)),
        "units": units(*range(MOMENTS)),
        "tasks": tasks(*["kubelet"] * MOMENTS),
    }
    everything: Any = {**sources, **changes}
    return scene_of(FULL, **everything).segment.moments


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two segments; the event lies in the second, which is open."""
    root = tmp_path_factory.mktemp("diagnosed") / "store"
    recorded = moments()
    sealed_segment(root, recorded[:21])
    anchor = anchor_at(recorded[20].time_ns, UTC_NS - BEGIN_NS)
    open_segment(
        root, recorded[20:], [RESET, event_of("unit-restart", 22, unit="ecs.service")], anchor=anchor
    )
    return root


def test_a_chain_is_found_across_segments_and_what_no_sample_tells_is_missing(
    store: Path, document: Document
) -> None:
    body = document("diagnose", "--store", store, exit_code=1)
    found = body["diagnosis"]
    assert found["conclusion"] == "starved-core" and found["symptom"] == RESET_ID
    assert [link["id"] for link in found["chain"]] == ["core-starves-nic"]
    assert "what kept core 0 in the kernel" in found["missing"][0]
    assert found["chain"][0]["strength"] == "strong"
    assert {"name", "value", "unit", "source"} <= found["chain"][0]["evidence"][0].keys()
    assert found["culprit"] is None and body["others"] == [] and body["symptoms"] == 1


def test_the_text_fits_into_60_columns_and_names_what_to_do(store: Path, necroscope: Run) -> None:
    done = necroscope("diagnose", "--store", store, env={"COLUMNS": "60"})
    assert done.returncode == 1
    assert all(len(line) <= 60 for line in done.stdout.splitlines())
    text = " ".join(done.stdout.split())
    assert "eth0 queue 0 stalled because its core 0 was in the kernel for 8 s, kubelet" in text
    assert "Ruled out" in text and "Missing in the chain" in text
    assert f"necroscope flame --around {RESET_ID} --cpu 0" in text


def test_one_event_can_be_asked_for(store: Path, document: Document, necroscope: Run) -> None:
    assert document("diagnose", "--store", store, "--around", RESET_ID, exit_code=1)["diagnosis"]
    for words, says in (
        (["--around", "nic-reset-20260415T100028.000Z-9"], "no event"),
        (["--around", "14:00"], "not the id of an event"),
        (["--around", RESTART_ID], "nothing to explain"),
        (["--around", RESET_ID, "-b", "1h"], "two different things"),
    ):
        done = necroscope("diagnose", "--store", store, *words)
        assert done.returncode == 2 and says in done.stderr


def test_a_quiet_range_has_nothing_to_explain(store: Path, necroscope: Run, document: Document) -> None:
    quiet = ("-b", "2026-04-15T10:00:00Z", "-e", "2026-04-15T10:00:10Z")
    done = necroscope("diagnose", "--store", store, *quiet)
    assert done.returncode == 0 and "nothing to explain" in done.stdout
    assert document("diagnose", "--store", store, *quiet)["diagnosis"] is None


def test_several_stalls_are_all_explained_the_newest_first(tmp_path: Path, document: Document) -> None:
    early = replace(RESET, time_ns=RESET.time_ns - 25 * SECOND_NS, device="eth1", sequence=1)
    sealed_segment(tmp_path, moments(), [early, RESET])
    body = document("diagnose", "--store", tmp_path, exit_code=1)
    assert body["symptoms"] == 2 and body["diagnosis"]["symptom"] == RESET_ID
    (before,) = body["others"]
    assert before["symptom"].endswith("-1") and before["conclusion"] != "starved-core"


def test_an_event_without_counters_around_it_cannot_be_looked_at(tmp_path: Path, necroscope: Run) -> None:
    segment = sealed_segment(tmp_path, moments(), [RESET])
    shutil.rmtree(segment.folder / "counters")
    done = necroscope("diagnose", "--store", tmp_path)
    assert done.returncode == 3 and RESET_ID in done.stderr


def test_an_empty_store_is_an_error_that_says_what_to_do(tmp_path: Path, necroscope: Run) -> None:
    done = necroscope("diagnose", "--store", tmp_path)
    assert done.returncode == 3 and "necroscope record" in done.stderr


def test_a_damaged_segment_is_told_and_left_out(tmp_path: Path, necroscope: Run, document: Document) -> None:
    recorded = moments()
    first = sealed_segment(tmp_path, recorded[:21])
    anchor = anchor_at(recorded[20].time_ns, UTC_NS - BEGIN_NS)
    sealed_segment(tmp_path, recorded[20:], [RESET], anchor=anchor)
    for file in first.folder.rglob("*.parquet"):
        file.write_bytes(b"PAR1 and then nothing")
    body = document("diagnose", "--store", tmp_path, exit_code=1)
    assert body["diagnosis"]["conclusion"] == "starved-core"
    assert body["damaged"], "what could not be read is named"


@pytest.mark.parametrize("broken", ["a file", "no permission", "nothing"])
def test_doctor_does_without_a_store_it_cannot_read(broken: str, tmp_path: Path, necroscope: Run) -> None:
    store = tmp_path / "store"
    if broken == "a file":
        store.write_text("not a store")
    elif broken == "no permission":
        (store / "node").mkdir(parents=True)
        store.chmod(0)
    done = necroscope("doctor", "-d", "1s", "--store", store)
    assert done.returncode in (0, 1), done.stderr


def test_without_a_symptom_what_is_held_back_is_told(
    tmp_path: Path, document: Document, necroscope: Run
) -> None:
    store = tmp_path / "store"
    quiet = scene_of(["idle"] * SECONDS, held_back=[(HELD_BACK,)]).segment.moments
    open_segment(store, quiet, anchor=anchor_at(quiet[0].time_ns))
    body = document("diagnose", "--store", store, exit_code=1)
    assert body["diagnosis"] is None and body["symptoms"] == 0
    (accident,) = body["by_accident"]
    assert (accident["unit"], accident["because"]) == ("ecs.service", "node-setup.service failed (exit 1)")
    assert {"name", "value", "unit", "source"} <= accident["evidence"][0].keys()
    done = necroscope("diagnose", "--store", store, env={"COLUMNS": "60"})
    assert all(len(line) <= 60 for line in done.stdout.splitlines())
    text = " ".join(done.stdout.split())
    assert "nothing to explain" in text and "By accident - ecs.service is enabled" in text


def test_what_is_held_back_and_not_recorded_is_not_known(
    tmp_path: Path, document: Document, necroscope: Run
) -> None:
    store = tmp_path / "store"
    absent: Reading[Any] = Reading(absence=Absence.NOT_SUPPORTED, detail="no systemd answers on this host")
    quiet = scene_of(["idle"] * SECONDS, held_back=[absent]).segment.moments
    open_segment(store, quiet, anchor=anchor_at(quiet[0].time_ns))
    body = document("diagnose", "--store", store, exit_code=0)
    assert body["diagnosis"] is None and body["by_accident"] is None
    assert "is not recorded" in necroscope("diagnose", "--store", store).stdout
