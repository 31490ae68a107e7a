"""culprit as people run it, on recordings of known content."""

from __future__ import annotations

from pathlib import Path

import pytest

from necroscope.cli.culprit import MOST_WINDOWS
from necroscope.store.stored_events import read_events
from tests.cli.conftest import Document, Run
from tests.diagnosis.sampled_seconds import Work, sampled_segment
from tests.stored import event_of

WALK = "kubelet: do_syscall_64 > seq_read > memcg_numa_stat_show > mem_cgroup_nr_lru_pages"
RESETS = (40, 100)


def plan(core: int, second: int) -> Work:
    """On core 0 kubelet walks for the five seconds before each reset."""
    walks = core == 0 and any(reset - 5 <= second < reset for reset in RESETS)
    return {"python": 0.4, **({WALK: 0.6} if walks else {})}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    resets = [event_of("nic-reset", reset, core=0, device="eth0") for reset in RESETS]
    done = [event_of("nic-reset", reset + 1, phase="done", sequence=1) for reset in RESETS]
    sampled_segment(tmp_path / "store", plan, seconds=range(150), events=[*resets, *done])
    return tmp_path / "store"


@pytest.fixture
def reset_id(store: Path, document: Document) -> str:
    events = document("events", "--store", store)["events"]
    id: str = next(event["id"] for event in events if event["phase"] != "done")
    return id


def test_the_culprit_of_an_event_on_its_core(document: Document, store: Path, reset_id: str) -> None:
    body = document("culprit", "--store", store, "--around", reset_id, exit_code=1)
    assert (body["culprit"]["process"], body["culprit"]["function"]) == ("kubelet", "mem_cgroup_nr_lru_pages")
    assert body["culprit"] == body["suspects"][0] and body["culprit"]["lift"] is None
    assert body["cores"] == [0] and body["events"] == [reset_id]
    assert (body["window_seconds"], body["note"]) == (6, "") and body["quiet_seconds"] > 100
    assert body["windows"][0]["end"] == "2026-04-15T10:00:41.000Z"


def test_another_core_has_no_culprit(document: Document, necroscope: Run, store: Path, reset_id: str) -> None:
    body = document("culprit", "--store", store, "--around", reset_id, "--cpu", "1", exit_code=0)
    assert body["culprit"] is None and body["cores"] == [1]
    assert (
        "nothing stands out"
        in necroscope("culprit", "--store", store, "--around", reset_id, "--cpu", "1").stdout
    )


def test_what_the_resets_of_a_range_have_in_common(document: Document, necroscope: Run, store: Path) -> None:
    words = ("culprit", "--store", store, "-b", "2026-04-15T10:00:00Z", "-e", "2026-04-15T10:02:30Z")
    body = document(*words, exit_code=1)
    assert len(body["windows"]) == len(body["events"]) == 2 and body["window_seconds"] == 12
    assert body["culprit"]["windows"] == 2
    assert "in 2 of 2 windows" in " ".join(necroscope(*words).stdout.split())


def test_a_moment(document: Document, store: Path) -> None:
    body = document(
        "culprit", "--store", store, "--around", "2026-04-15T10:00:40Z", "--cpu", "0", exit_code=1
    )
    assert body["culprit"]["process"] == "kubelet" and body["events"] == []
    document("culprit", "--store", store, "--around", "2026-04-15T10:01:10Z", exit_code=0)


@pytest.mark.parametrize("width", [60, 80])
def test_the_table_fits(necroscope: Run, store: Path, reset_id: str, width: int) -> None:
    done = necroscope("culprit", "--store", store, "--around", reset_id, env={"COLUMNS": str(width)})
    assert done.returncode == 1
    assert max(map(len, done.stdout.splitlines())) <= width
    assert "kubelet in mem_cgroup_nr_lru_pages stands out" in " ".join(done.stdout.split())
    assert "new" in done.stdout and "*kubelet" in done.stdout


def test_without_samples_or_events(necroscope: Run, document: Document, tmp_path: Path, store: Path) -> None:
    assert necroscope("culprit", "--store", tmp_path / "none").returncode == 3
    assert necroscope("culprit", "--store", store, "--around", "2026-04-15T12:00:00Z").returncode == 3
    quiet = ("culprit", "--store", store, "-b", "2026-04-15T10:00:45Z", "-e", "2026-04-15T10:01:30Z")
    assert "nothing to explain" in document(*quiet, exit_code=0)["note"]


def test_a_damaged_neighbour_is_left_out(document: Document, necroscope: Run, tmp_path: Path) -> None:
    root = tmp_path / "store"
    parts = [range(60), range(60, 100), range(100, 150)]
    segments = [
        sampled_segment(
            root, plan, seconds=part, events=[event_of("nic-reset", 100, core=0)] * (part.start == 100)
        )
        for part in parts
    ]
    (segments[0].profile / "samples.parquet").write_bytes(b"no")
    (event,) = read_events(segments[2])
    body = document("culprit", "--store", root, "--around", event.id, exit_code=1)
    assert [row["folder"] for row in body["damaged"]] == [str(segments[0].folder)]
    assert body["culprit"]["process"] == "kubelet"


def test_a_saturated_core_is_looked_at_while_it_was(document: Document, tmp_path: Path) -> None:
    saturated = event_of("core-saturated", 35, core=0, seconds=5.0)
    sampled_segment(tmp_path / "store", plan, seconds=range(80), events=[saturated])
    body = document("culprit", "--store", tmp_path / "store", exit_code=1)
    assert [window["begin"] for window in body["windows"]] == ["2026-04-15T10:00:35.000Z"]
    assert (body["window_seconds"], body["cores"]) == (5, [0])
    assert body["culprit"]["process"] == "kubelet"


def test_of_many_windows_the_newest_are_taken(document: Document, necroscope: Run, tmp_path: Path) -> None:
    count = MOST_WINDOWS + 3
    resets = [event_of("nic-reset", 10 + 8 * number, core=0) for number in range(count)]
    seconds = range(10 + 8 * count + 30)
    sampled_segment(tmp_path / "store", lambda *_: {"python": 0.4}, seconds=seconds, events=resets)
    words = ("culprit", "--store", tmp_path / "store")
    body = document(*words, exit_code=0)
    assert (len(body["windows"]), len(body["events"]), body["windows_left_out"]) == (MOST_WINDOWS,) * 2 + (3,)
    assert body["windows"][-1]["end"] == "2026-04-15T10:07:07.000Z", "the newest"
    assert "3 older windows left out" in " ".join(necroscope(*words).stdout.split())


def test_where_all_fit_none_is_left_out(document: Document, necroscope: Run, store: Path) -> None:
    words = ("culprit", "--store", store, "-b", "2026-04-15T10:00:00Z", "-e", "2026-04-15T10:02:30Z")
    assert document(*words, exit_code=1)["windows_left_out"] == 0
    assert "left out" not in necroscope(*words).stdout
