"""report as people run it, on a store of known content: an incident without samples, and a fix."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from necroscope.model.plan import ByHand, Goal, Plan, Step, Treatment
from necroscope.model.reading import Reading
from necroscope.remedies.apply.fixes import create_fix, plan_checksum
from necroscope.remedies.apply.fixes_folder import fixes_folder, make_fixes_folder
from necroscope.remedies.apply.journal import Entry, Happening
from necroscope.sources.cgroup_ledger import CGROUP_LEDGER
from tests.cli.conftest import Document, Run
from tests.cli.report.html_pages import Page
from tests.cli.test_diagnose import RESET, RESET_ID, moments
from tests.diagnosis.scenes import ledger
from tests.remedies.on_record import applied_fix, plan_of, put_on_record
from tests.stored import HOST, SECOND_NS, UTC_NS, event_of, sealed_segment

SECRETS = ("hunter2-in-a-line", "hunter2-in-a-unit", "hunter2-in-a-file", "AKIAIOSFODNN7EXAMPLE")
FIX_ID = "20260415T100032Z-limit-crash-loop"
PLAN = Plan(
    host=HOST,
    machine_id="0123456789abcdef0123456789abcdef",
    root="/",
    is_image=False,
    made_at="2026-04-15T10:00:31Z",
    reasons=("ecs.service leaks memory cgroups", f"its key is {SECRETS[3]}"),
    seen=(),
    treatments=(Treatment("limit-crash-loop", "ecs.service"),),
    assumptions=(),
    steps=(
        Step(
            action="write-file",
            target="/etc/systemd/system/ecs.service.d/50-limit.conf",
            value="",
            command=f"cat >50-limit.conf <<END\n[Service]\nEnvironment=API_TOKEN={SECRETS[1]}\nEND",
            why="a loop must end",
            risk="",
            cost="",
            undo="remove the file",
        ),
    ),
    by_hand=(ByHand(("reboot",), "frees all of them", "every pod moves"),),
    goals=(Goal("zombie-growth", ""),),
    warnings=("docker.service is stopped along",),
    vital=(),
)


def apply_fix(store: Path, *more: Happening) -> str:
    """A fix as it is on record ten seconds before the end of the range."""
    at_ns = UTC_NS + 32 * SECOND_NS
    before = ({"text": f"DB_PASSWORD={SECRETS[2]}", "mode": "0o644"},)
    make_fixes_folder(store)
    begun = Entry(Happening.BEGUN, at_ns, "root, pid 7", before=before, plan_sha256=plan_checksum(PLAN))
    id = create_fix(store, PLAN, begun).id
    kinds = (Happening.STEP_BEGUN, Happening.STEP_DONE, *(more or (Happening.APPLIED,)))
    for seconds, kind in enumerate(kinds, 1):
        step = int(kind.value.startswith("step"))
        outcome = "<b>written</b>" if kind is Happening.STEP_DONE else ""
        entry = Entry(kind, at_ns + seconds * SECOND_NS, "root, pid 7", step, outcome)
        put_on_record(store, id, entry)
    return id


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("reported") / "store"
    line = replace(RESET, text=f"{RESET.text} password={SECRETS[0]} <script>alert(1)</script>")
    restarts = [
        event_of("unit-restart", second, unit="ecs.service", sequence=second) for second in (21, 23, 24)
    ]
    sealed_segment(root, moments(), [*restarts, line])
    apply_fix(root)
    return root


def blocks(body: Mapping[str, Any], section: str) -> str:
    """All that a section says."""
    return str(next(one["blocks"] for one in body["sections"] if one["id"] == section))


def test_a_report_tells_what_why_when_and_what_was_done(store: Path, document: Document) -> None:
    body = document("report", "--store", store)
    assert [section["id"] for section in body["sections"]] == [
        "summary",
        "timeline",
        "cause",
        "flames",
        "zombies",
        "changes",
        "verdict",
        "follow-ups",
    ]
    assert "stalled because its core 0 was in the kernel" in body["verdict"]
    assert RESET_ID in blocks(body, "summary") and body["host"] == HOST
    timeline = blocks(body, "timeline")
    assert "and 2 more like it until 10:00:24" in timeline
    assert "fix begun by root" in timeline and "write-file" in timeline and "SSSSSSSS" in timeline
    cause = blocks(body, "cause")
    assert "strong" in cause and "Ruled out" in cause and "Could not be checked" in cause
    assert "No flame graph: no samples there" in blocks(body, "flames")
    assert "5,000 zombies" in blocks(body, "zombies") and "ecs.service" in blocks(body, "zombies")
    changes = blocks(body, "changes")
    assert "root, pid 7" in changes and "remove the file" in changes and "before, mode" in changes
    assert "zombie-growth (goal)" in blocks(body, "verdict")
    assert f"--undo {FIX_ID} --store {store}" in changes
    assert "reboot" in blocks(body, "follow-ups") and RESET_ID in blocks(body, "follow-ups")


def two_leaks(store: Path) -> None:
    """ecs.service leaks 100 a second and is explained; five of a bystander are newer, and are not."""
    recorded = []
    for moment in moments():
        own = moment.readings[CGROUP_LEDGER.id].value
        assert own
        (few,) = ledger(5, unit="bystander.service", creator="sh")
        both = replace(own, groups=(*own.groups, *few.groups))
        recorded.append(replace(moment, readings={**moment.readings, CGROUP_LEDGER.id: Reading(both)}))
    leaks = [
        event_of("cgroup-leak", 20, unit="ecs.service", process="agent"),
        event_of("cgroup-leak", 38, unit="bystander.service", process="sh", sequence=38),
    ]
    sealed_segment(store, recorded, leaks)


def test_the_explained_leak_leads_though_another_is_newer(document: Document, tmp_path: Path) -> None:
    two_leaks(tmp_path)
    applied_fix(
        tmp_path,
        plan_of((), [Treatment("disable-unit", "bystander.service")], HOST),
        UTC_NS + 39 * SECOND_NS,
        UTC_NS + 39 * SECOND_NS,
    )
    body = document("report", "--store", tmp_path)
    assert body["verdict"].startswith("ecs.service leaks memory cgroups")
    assert "cgroup-leak-20260415T100020" in blocks(body, "summary")
    cause = blocks(body, "cause")
    assert "Other symptoms in this range" in cause and "cgroup-leak-20260415T100038" in cause
    for elsewhere in ("NAPI", "NET_RX", "large pages", "samples"):
        assert elsewhere not in cause.partition("Other symptoms")[0], "no question of a leak"


def test_an_html_report_is_one_whole_page(store: Path, necroscope: Run, tmp_path: Path) -> None:
    file = tmp_path / "incident.html"
    done = necroscope("report", "--store", store, "-o", file)
    assert done.returncode == 0 and str(file) in done.stdout.replace("\n", "")  # wrapped where it is long
    page = Page(file.read_text())
    assert page.faults == [] and page.fetched == [] and page.tags["script"] == 0
    text = " ".join(page.text)
    assert "<script>alert(1)</script>" in text and "<b>written</b>" in text
    assert "prefers-color-scheme: dark" in file.read_text() and "@media print" in file.read_text()


@pytest.mark.parametrize("output", ["incident.md", "incident.html", "", "--json"])
def test_no_secret_gets_into_a_report(store: Path, necroscope: Run, tmp_path: Path, output: str) -> None:
    file = tmp_path / output if output.startswith("incident") else None
    words = ["-o", file] if file else [output] if output else []
    done = necroscope("report", "--store", store, *words)
    assert done.returncode == 0, done.stderr
    said = done.stdout + done.stderr + (file.read_text() if file else "")
    assert [secret for secret in SECRETS if secret in said] == []
    assert "redacted" in said


def test_the_text_fits_into_60_columns_but_for_commands(store: Path, necroscope: Run) -> None:
    done = necroscope("report", "--store", store, env={"COLUMNS": "60"})
    assert done.stdout.startswith("# Incident on node-17\n\n## Summary\n")
    assert [line for line in done.stdout.splitlines() if len(line) > 60] == []


def test_a_fix_by_its_id_tells_its_own_range(store: Path, document: Document) -> None:
    body = document("report", "--store", store, "--fix", FIX_ID)
    assert body["begin"] == "2026-04-15T09:50:32.000Z" and body["end"] == "2026-04-15T10:10:35.000Z"
    assert FIX_ID in blocks(body, "changes")


def test_an_event_by_its_id_tells_its_own_range(store: Path, document: Document) -> None:
    body = document("report", "--store", store, "--around", RESET_ID)
    assert body["begin"] == "2026-04-15T09:50:28.000Z"
    assert RESET_ID in blocks(body, "cause")


def test_around_what_is_no_symptom_the_gravest_there_is_explained(store: Path, document: Document) -> None:
    body = document("report", "--store", store, "--around", "unit-restart-20260415T100023.000Z-23")
    assert body["begin"] == "2026-04-15T09:50:23.000Z" and RESET_ID in blocks(body, "cause")


def test_what_comes_all_the_time_gives_way_to_what_is_rare(document: Document, tmp_path: Path) -> None:
    often = [
        event_of("unit-restart", second / 10, unit=f"{second}.service", sequence=second)
        for second in range(290, 400)
    ] + [event_of("core-saturated", second / 10, core=second % 2) for second in range(290, 400)]
    sealed_segment(tmp_path / "store", moments(), [RESET, *often])
    body = document("report", "--store", tmp_path / "store")
    timeline = next(one["blocks"] for one in body["sections"] if one["id"] == "timeline")
    assert len(timeline[0]["rows"]) == 200 and "21 more are left out" in timeline[1]["text"]
    assert RESET_ID in timeline[0]["rows"][0][1]


def test_a_range_without_anything_still_gives_a_report(store: Path, document: Document) -> None:
    body = document("report", "--store", store, "-b", "2026-04-15T10:00:01Z", "-e", "2026-04-15T10:00:12Z")
    assert body["verdict"].startswith("nothing to explain")
    assert "Nothing happened" in blocks(body, "timeline")
    assert "no symptom to explain" in blocks(body, "cause")
    assert "Nothing was changed" in blocks(body, "changes")
    assert "nothing to verify" in blocks(body, "verdict")


def test_a_fix_that_was_taken_back_is_told_and_judged_until_then(
    store: Path, document: Document, tmp_path: Path
) -> None:
    root = tmp_path / "store"
    shutil.copytree(store / HOST, root / HOST)
    apply_fix(
        root,
        Happening.APPLIED,
        Happening.UNDO_BEGUN,
        Happening.STEP_UNDOING,
        Happening.STEP_UNDONE,
        Happening.UNDONE,
    )
    body = document("report", "--store", root)
    assert "undone" in blocks(body, "changes") and "--undo" not in blocks(body, "changes")
    assert "limit-crash-loop: inconclusive" in blocks(body, "verdict")


def test_a_fix_that_ended_in_the_middle_is_told_and_not_judged(
    store: Path, document: Document, tmp_path: Path
) -> None:
    root = tmp_path / "store"
    shutil.copytree(store / HOST, root / HOST)
    apply_fix(root, Happening.CONTINUED)
    body = document("report", "--store", root)
    assert "unfinished" in blocks(body, "changes")
    assert "Not verified: 20260415T100032Z-limit-crash-loop has not ended" in blocks(body, "verdict")


def test_records_of_fixes_that_cannot_be_read_are_told(
    store: Path, document: Document, tmp_path: Path
) -> None:
    root = tmp_path / "store"
    shutil.copytree(store, root)
    shutil.copytree(fixes_folder(store), fixes_folder(root))
    next(fixes_folder(root).glob("*/journal")).write_bytes(b"damaged\n")
    assert "could not be read" in blocks(document("report", "--store", root), "changes")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-o", "incident.pdf"], "no such format"),
        (["--fix", "20990101T000000Z-reboot"], "there is no fix"),
        (["--host", "node-99"], "no recording of node-99"),
        (["--around", RESET_ID, "-b", "10m"], "two different things"),
    ],
)
def test_what_cannot_be_is_said(store: Path, necroscope: Run, words: list[str], said: str) -> None:
    done = necroscope("report", "--store", store, *words)
    assert done.returncode in (2, 3) and said in done.stderr


def test_a_file_is_not_overwritten_without_f(store: Path, necroscope: Run, tmp_path: Path) -> None:
    file = tmp_path / "incident.md"
    file.write_text("mine")
    assert necroscope("report", "--store", store, "-o", file).returncode == 2
    assert file.read_text() == "mine"
    assert necroscope("report", "--store", store, "-o", file, "-f").returncode == 0
    assert file.read_text().startswith("# Incident on node-17")
