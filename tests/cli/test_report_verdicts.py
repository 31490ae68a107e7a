"""A report and `verify` about the same fix: what somebody was told is told again, with its windows."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from necroscope.cli import verify
from necroscope.model.plan import Goal
from necroscope.remedies.apply.fixes import VERDICT
from necroscope.remedies.apply.fixes_folder import fixes_folder
from necroscope.remedies.apply.journal import Entry, Happening
from necroscope.sources.memory_cgroups import MEMORY_CGROUPS, HierarchyCount, MemoryCgroups
from tests.cli.conftest import Document, Run
from tests.remedies.on_record import applied_fix, plan_of, put_on_record
from tests.stored import HOST, SECOND_NS, UTC_NS, moment_of, sealed_segment

LEAKS, FIXED, END = 60, 90, 115  # it leaks for 30 s, after a quiet minute; 25 s are recorded after the fix
FIXED_NS = UTC_NS + FIXED * SECOND_NS


def zombies(second: int) -> int:
    """5,000, then 700 more each second until the fix, which frees them."""
    return 10 if second > FIXED else 5000 + 700 * max(second - LEAKS, 0)


def record(root: Path, seconds: range) -> None:
    counts = {second: zombies(second) for second in seconds}
    moments = [
        moment_of(
            second,
            {MEMORY_CGROUPS: MemoryCgroups(HierarchyCount("memory", 1, count, 0, count, ""), (), None)},
        )
        for second, count in counts.items()
    ]
    sealed_segment(root, moments)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    root = tmp_path / "store"
    record(root, range(END + 1))
    return root


@pytest.fixture
def fix(store: Path) -> str:
    return applied_fix(store, plan_of((Goal("zombie-growth", ""),), (), HOST), FIXED_NS, FIXED_NS)


def said(body: dict[str, Any]) -> tuple[str, str]:
    """All that the summary and the section of the verdict say."""
    sections = {one["id"]: str(one["blocks"]) for one in body["sections"]}
    return sections["summary"], sections["verdict"]


def asked(necroscope: Run, store: Path, fix: str, *words: str) -> str:
    done = necroscope("verify", fix, "--store", store, *words)
    return done.stdout.partition("\n")[0].removeprefix(f"{HOST}: ")


def test_nobody_asked_and_it_is_judged_by_all_that_is_recorded(
    document: Document, store: Path, fix: str
) -> None:
    summary, verdict = said(document("report", "--store", store))
    assert "inconclusive" in summary and f"{fix}: inconclusive" in verdict
    assert "(all that is recorded)" in verdict and "judged anew" not in summary + verdict


def test_what_verify_said_stands_with_its_windows(
    necroscope: Run, document: Document, store: Path, fix: str
) -> None:
    """By the quiet minute before the leak alone, a report would say that it cannot be told."""
    assert asked(necroscope, store, fix, "--window", "15s", "--before", "30s") == "better"
    summary, verdict = said(document("report", "--store", store))
    assert "better" in summary and "30 s before, 15 s after" in summary and "verify, 20" in summary
    assert f"{fix}: better" in verdict and "All that is recorded by now says the same" in verdict
    assert "30 s before, 23 s after" in verdict, "judged anew against the same time before"
    assert "inconclusive" not in summary and "judged anew" not in summary + verdict


def test_what_more_time_says_otherwise_is_told_beside_it(
    necroscope: Run, document: Document, store: Path, fix: str
) -> None:
    assert asked(necroscope, store, fix, "--window", "3s", "--before", "30s") == "inconclusive"
    summary, verdict = said(document("report", "--store", store))
    assert "inconclusive" in summary and "judged anew" in summary and "better" in summary
    assert f"{fix}: inconclusive" in verdict and f"{fix}, judged anew: better" in verdict
    assert "30 s before, 3 s after" in verdict and "30 s before, 23 s after" in verdict


def test_nothing_more_is_recorded_and_it_is_told_once(
    necroscope: Run, document: Document, store: Path, fix: str
) -> None:
    assert asked(necroscope, store, fix, "--window", "10m", "--before", "30s") == "better"
    _, verdict = said(document("report", "--store", store))
    assert verdict.count("better") and "by now" not in verdict and "judged anew" not in verdict


def test_the_verdict_outlives_the_recording(
    necroscope: Run, document: Document, store: Path, fix: str
) -> None:
    asked(necroscope, store, fix, "--window", "15s", "--before", "30s")
    shutil.rmtree(next((store / HOST).glob("2*")))
    record(store, range(FIXED + 3, END + 100))
    summary, verdict = said(document("report", "--store", store, "--fix", fix))
    assert "better" in summary and f"{fix}: better" in verdict
    assert "judged anew" not in summary + verdict


def test_a_verdict_about_a_fix_that_went_on_since_is_not_told(
    necroscope: Run, document: Document, store: Path, fix: str
) -> None:
    assert asked(necroscope, store, fix, "--window", "15s", "--before", "30s") == "better"
    put_on_record(store, fix, Entry(Happening.APPLIED, FIXED_NS + SECOND_NS, "a test"))
    assert "(all that is recorded)" in said(document("report", "--store", store))[1]


def test_a_verdict_that_cannot_be_read_is_told_and_judged_anew(
    necroscope: Run, document: Document, store: Path, fix: str
) -> None:
    asked(necroscope, store, fix, "--window", "15s", "--before", "30s")
    (fixes_folder(store) / fix / VERDICT).write_text("{")
    _, verdict = said(document("report", "--store", store))
    assert "what `verify` said is lost" in verdict and f"{fix}: inconclusive" in verdict


def test_a_change_by_hand_has_nothing_to_keep_it_beside(document: Document, store: Path) -> None:
    body = document("verify", "--at", "2026-04-15T10:01:30Z", "--before", "30s", "--store", store)
    assert (body["verdict"], body["kept"]) == ("better", False)


def test_what_was_interrupted_is_not_kept(
    document: Document, store: Path, fix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("verify", fix, "--before", "30s", "--store", store)
    with monkeypatch.context() as patch:
        patch.setattr(verify, "host_name", lambda _: HOST)
        patch.setattr(verify, "have_recorded", lambda *_: False)
        assert document(*words, exit_code=130)["kept"] is False
    assert not (fixes_folder(store) / fix / VERDICT).exists()
    assert document(*words, "--now")["kept"] is True
    assert (fixes_folder(store) / fix / VERDICT).exists()


def test_where_it_cannot_be_kept_it_says_so(necroscope: Run, store: Path, fix: str) -> None:
    (fixes_folder(store) / fix / VERDICT).mkdir()  # root may write everywhere else
    done = necroscope("verify", fix, "--window", "15s", "--before", "30s", "--store", store)
    assert done.returncode == 0 and "not kept for the report" in done.stderr
