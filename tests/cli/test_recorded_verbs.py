"""timeline and events as people run them, on a store of known content."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.segments import BEGIN_NS
from tests.stored import (
    SECOND_NS,
    UTC_NS,
    anchor_at,
    event_of,
    open_segment,
    sealed_segment,
    seconds_of,
)

Document = Callable[..., dict[str, Any]]
# 90 s of 20 cores: core 3 is in the kernel from 40 to 50 s, core 7 in user space all the time.
CORES = [["idle"] * 90 for _ in range(20)]
CORES[3][40:50] = ["system"] * 10
CORES[7] = ["user"] * 90
RESET = event_of("nic-reset", 45.25, sequence=1208, device="eth0", queue=5)
SATURATED = event_of("core-saturated", 40, sequence=1, core=3, seconds=3.0)
ENDED = event_of("core-saturated", 40, sequence=1, core=3, seconds=10.0)
RESET_ID = "nic-reset-20260415T100045.250Z-1208"


def build(root: Path, offset_ns: int = UTC_NS - BEGIN_NS) -> Path:
    """Segments of 0-30, 30-45, 45-60 (sealed) and 60-90 s (open)."""
    moments = seconds_of(*CORES)
    parts: list[tuple[int, int, list[Any]]] = [
        (0, 30, []),
        (30, 45, [SATURATED]),
        (45, 60, [RESET, ENDED]),
        (60, 90, [event_of("unit-restart", 55, unit="a.service")]),
    ]
    for begin, end, events in parts:
        make = sealed_segment if end < 90 else open_segment
        anchor = anchor_at(moments[begin].time_ns, offset_ns)
        make(root, moments[begin : end + 1], events, anchor=anchor)
    return root


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("stored") / "store")


@pytest.fixture(scope="module")
def recent(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """The same, ended just now; and when it began."""
    begin_ns = (time.time_ns() // SECOND_NS - 90) * SECOND_NS
    return build(tmp_path_factory.mktemp("recent") / "store", begin_ns - BEGIN_NS), begin_ns


@pytest.fixture
def damaged(built: Path, tmp_path: Path) -> Path:
    return shutil.copytree(built, tmp_path / "store")


def row(body: dict[str, Any], core: int) -> str:
    return str(next(one["states"] for one in body["cores"] if one["core"] == core))


def test_the_timeline_has_a_letter_for_every_core_and_second(document: Document, built: Path) -> None:
    body = document("timeline", "--store", built, exit_code=0)
    assert (body["host"], body["verb"], body["ok"]) == ("node-17", "timeline", True)
    assert (body["begin"], body["end"]) == ("2026-04-15T10:00:00.000Z", "2026-04-15T10:01:30.000Z")
    assert (body["columns"], body["step_seconds"], body["missing"]) == (90, 1.0, 0)
    assert len(body["cores"]) == 20
    assert row(body, 3) == "." * 40 + "S" * 10 + "." * 40
    assert row(body, 7) == "U" * 90
    assert {"S", ".", " "} <= body["legend"].keys()
    assert [event["kind"] for event in body["events"]] == ["core-saturated", "nic-reset", "unit-restart"]


def test_the_timeline_fits_a_narrow_screen(necroscope: Run, built: Path) -> None:
    done = necroscope("timeline", "--store", built, env={"COLUMNS": "60"})
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 60
    assert "2 s a column" in lines[0]
    (core_3,) = (line for line in lines if line.startswith("  core 3 "))
    assert core_3 == f"  core 3 |{'.' * 20}{'S' * 5}{'.' * 20}|"
    assert any("4 quieter cores are left out" in line for line in lines)
    assert RESET_ID in done.stdout.replace("\n", "").replace(" ", "")


@pytest.mark.parametrize("width", [40, 61, 100])
def test_no_line_is_wider_than_the_screen(necroscope: Run, built: Path, width: int) -> None:
    for words in (("timeline", "--all"), ("events",)):
        done = necroscope(*words, "--store", built, env={"COLUMNS": str(width)})
        assert max(map(len, done.stdout.splitlines())) <= width, words


def test_all_cores_and_a_step_of_one_s_own(necroscope: Run, built: Path) -> None:
    done = necroscope("timeline", "--store", built, "--all", "--step", "30s")
    rows = {
        line.split("|")[0].strip(): line.split("|")[1] for line in done.stdout.splitlines() if "|" in line
    }
    assert len(rows) == 20
    assert (rows["core 3"], rows["core 7"], rows["core 0"]) == (".S.", "UUU", "...")


def test_a_step_below_a_second_is_refused(necroscope: Run, built: Path) -> None:
    done = necroscope("timeline", "--store", built, "--step", "500ms")
    assert done.returncode == 2 and "--step" in done.stderr


def test_events_are_listed_in_order_with_their_ids(document: Document, built: Path) -> None:
    body = document("events", "--store", built, exit_code=0)
    assert [event["id"] for event in body["events"]] == [
        "core-saturated-20260415T100040.000Z-1",
        RESET_ID,
        "unit-restart-20260415T100055.000Z-0",
    ]
    saturated, reset, restart = body["events"]
    assert (saturated["seconds"], saturated["core"]) == (10.0, 3), "as it was told last"
    assert (reset["time"], reset["device"], reset["queue"]) == ("2026-04-15T10:00:45.250Z", "eth0", 5)
    assert restart["segment"] == "20260415T100100Z", "told in the segment after"
    assert not {"time_ns", "sequence"} & reset.keys()


def test_events_in_a_narrow_screen(necroscope: Run, built: Path) -> None:
    done = necroscope("events", "--store", built, env={"COLUMNS": "60"})
    lines = done.stdout.splitlines()
    assert done.returncode == 0
    assert max(map(len, lines)) <= 60
    assert lines[0].startswith("3 events from 2026-04-15T10:00:00.000Z")
    assert any(line.startswith("  10:00:45.250Z  nic-reset at 45.25") for line in lines)
    assert "necroscope flame --around" in " ".join(done.stdout.split())


def test_events_of_some_kinds_only(necroscope: Run, document: Document, built: Path) -> None:
    words = ("events", "--store", built, "--kind", "nic-reset", "--kind", "unit-restart")
    assert [event["kind"] for event in document(*words)["events"]] == ["nic-reset", "unit-restart"]
    done = necroscope("events", "--store", built, "--kind", "oom-kill")
    assert done.returncode == 0 and done.stdout.startswith("no events from")
    assert necroscope("events", "--store", built, "--kind", "weather").returncode == 2


@pytest.mark.parametrize(
    ("begin", "end"),
    [
        ("2026-04-15T10:00:42Z", "2026-04-15T12:00:46+02:00"),
        (str(UTC_NS // SECOND_NS + 42), f"{UTC_NS // SECOND_NS + 46}.0"),
        ("2026-04-15 10:00:42Z", str(UTC_NS // SECOND_NS + 46)),
    ],
)
def test_a_range_of_absolute_times(document: Document, built: Path, begin: str, end: str) -> None:
    body = document("timeline", "--store", built, "-b", begin, "-e", end, exit_code=0)
    assert (row(body, 3), row(body, 7)) == ("SSSS", "UUUU")
    assert [event["id"] for event in body["events"]] == [RESET_ID]


def test_a_range_from_the_beginning_of_the_recording(document: Document, built: Path) -> None:
    body = document("timeline", "--store", built, "-b", "+42s", "-e", "+46s", exit_code=0)
    assert (body["begin"], body["end"]) == ("2026-04-15T10:00:42.000Z", "2026-04-15T10:00:46.000Z")
    assert (row(body, 3), row(body, 7)) == ("SSSS", "UUUU")


@pytest.mark.parametrize("begin", ["10m", "now"])
def test_a_range_counted_from_now(
    document: Document, necroscope: Run, recent: tuple[Path, int], begin: str
) -> None:
    store, _ = recent
    if begin == "now":
        assert necroscope("timeline", "--store", store, "-b", begin).returncode == 3
        return
    body = document("timeline", "--store", store, "-b", begin, exit_code=0)
    assert row(body, 3) == "." * 40 + "S" * 10 + "." * 40
    assert len(document("events", "--store", store, "-b", begin)["events"]) == 3


def test_a_range_by_the_clock_on_the_wall(document: Document, recent: tuple[Path, int]) -> None:
    store, begin_ns = recent
    begin, end = (datetime.fromtimestamp(begin_ns / 1e9 + second).strftime("%H:%M:%S") for second in (42, 46))
    body = document("timeline", "--store", store, "-b", begin, "-e", end, exit_code=0)
    assert row(body, 3) == "SSSS"


def test_a_range_of_years_is_drawn_as_far_as_it_is_recorded(document: Document, built: Path) -> None:
    body = document("timeline", "--store", built, "-b", "2001-01-01", "-e", "2030-01-01", exit_code=0)
    assert (body["columns"], row(body, 7)) == (90, "U" * 90)


@pytest.mark.parametrize("verb", ["timeline", "events"])
def test_nothing_recorded_is_exit_3(necroscope: Run, built: Path, tmp_path: Path, verb: str) -> None:
    for words in (
        ("--store", tmp_path / "none"),
        ("--store", built, "--host", "elsewhere"),
        ("--store", built, "-b", "2001-01-01", "-e", "2001-01-02"),
        ("--store", built, "-b", "2030-01-01", "-e", "2030-01-02"),
    ):
        done = necroscope(verb, *words)
        assert done.returncode == 3, (words, done.stdout)
        assert done.stdout == "" and "record" in done.stderr


def test_the_error_of_nothing_recorded_is_json_too(document: Document, tmp_path: Path) -> None:
    body = document("timeline", "--store", tmp_path, exit_code=3)
    assert (body["ok"], body["error"]["slug"]) == (False, "nothing-recorded")


def test_a_recording_that_has_only_begun(necroscope: Run, tmp_path: Path) -> None:
    open_segment(tmp_path, seconds_of(["idle"])[:1])
    done = necroscope("timeline", "--store", tmp_path)
    assert done.returncode == 3, done.stderr


def test_an_imported_capture_is_no_recording(necroscope: Run, tmp_path: Path) -> None:
    sealed_segment(tmp_path, seconds_of(["idle"] * 5), boot_id="")
    assert necroscope("timeline", "--store", tmp_path).returncode == 3


@pytest.mark.parametrize("verb", ["timeline", "events"])
def test_a_range_the_wrong_way_round(necroscope: Run, built: Path, verb: str) -> None:
    done = necroscope(verb, "--store", built, "-b", "+20s", "-e", "+10s")
    assert done.returncode == 2 and "ends before it begins" in done.stderr


def test_a_cut_journal_is_shown_as_far_as_it_is_whole(document: Document, damaged: Path) -> None:
    path = damaged / "node-17/20260415T100100Z/journal.frames"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    body = document("timeline", "--store", damaged, exit_code=0)
    assert 60 < body["columns"] < 90
    assert body["missing"] == 0


def test_the_host_that_was_recorded_last_is_shown_unless_another_is_named(
    document: Document, damaged: Path
) -> None:
    later = anchor_at(BEGIN_NS, UTC_NS - BEGIN_NS + 600 * SECOND_NS)
    sealed_segment(damaged, seconds_of(["idle"] * 5), host="node-18", anchor=later)
    assert document("timeline", "--store", damaged)["host"] == "node-18"
    assert document("timeline", "--store", damaged, "--host", "node-17")["columns"] == 90
