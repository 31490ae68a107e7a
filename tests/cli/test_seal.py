"""seal as people run it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from necroscope.store.frames import frame
from necroscope.store.journal import JOURNAL, LOCK, layout_frame
from necroscope.store.process_lock import LOCK_MODE, locked
from necroscope.store.read_range import read_moments
from necroscope.store.store import read_segment
from tests.cli.conftest import Document, Run
from tests.cli.test_recorded_verbs import build
from tests.stored import open_segment, sealed_segment, seconds_of

MOMENTS = seconds_of(["idle"] * 20)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("stored") / "store")


@pytest.fixture
def damaged(built: Path, tmp_path: Path) -> Path:
    return shutil.copytree(built, tmp_path / "store")


def test_sealing_what_is_open_changes_nothing_that_is_shown(document: Document, damaged: Path) -> None:
    before = [document(verb, "--store", damaged) for verb in ("timeline", "events")]
    body = document("seal", "--store", damaged, exit_code=0)
    assert body["sealed"] == [str(damaged / "node-17/20260415T100100Z")]
    assert [document(verb, "--store", damaged) for verb in ("timeline", "events")] == before
    assert document("seal", "--store", damaged)["sealed"] == []


def test_sealing_makes_room_where_that_is_wanted(document: Document, damaged: Path) -> None:
    folder = damaged / "node-17/20260415T100100Z"
    body = document("seal", "--store", damaged, "--budget", "1", folder, exit_code=0)
    assert body["sealed"] == [str(folder)]
    assert list((damaged / "node-17").glob("2*")) == [folder], "the one that was open is not removed"
    assert body["store_bytes"] > 0


def test_one_that_is_being_written_does_not_hold_up_the_others(
    necroscope: Run, document: Document, tmp_path: Path
) -> None:
    busy = open_segment(tmp_path, MOMENTS[:6])
    left = open_segment(tmp_path, MOMENTS[5:])
    empty = open_segment(tmp_path, (), host="node-18")
    (damaged := tmp_path / "node-18/20260415T110000Z").mkdir()
    (damaged / "segment.json").write_text("{")
    with locked(busy.folder / LOCK, LOCK_MODE):
        body = document("seal", "--store", tmp_path, exit_code=0)
    assert (body["sealed"], body["removed"]) == ([str(left.folder)], [str(empty.folder)])
    assert sorted(one["folder"] for one in body["refused"]) == [str(busy.folder), str(damaged)]
    assert any("still being written" in one["what"] for one in body["refused"])
    done = necroscope("seal", "--store", tmp_path)
    assert done.stdout.startswith(f"sealed {busy.folder}\nrefused: {damaged}")


def test_a_journal_with_a_damaged_frame_does_not_hold_up_the_others(
    document: Document, tmp_path: Path
) -> None:
    bad, good = open_segment(tmp_path, MOMENTS[:6]), open_segment(tmp_path, MOMENTS[5:])
    before = (bad.folder / JOURNAL).read_bytes() + frame(b'["moment",{}]')
    (bad.folder / JOURNAL).write_bytes(before)
    body = document("seal", "--store", tmp_path, exit_code=0)
    assert body["sealed"] == [str(good.folder)]
    (refused,) = body["refused"]
    assert refused["what"] == f"{bad.folder / JOURNAL}: ValueError: not a moment"
    assert (bad.folder / JOURNAL).read_bytes() == before
    error = document("seal", bad.folder, exit_code=2)["error"]
    assert (error["slug"], "is damaged" in error["hint"]) == ("store", True)


def test_one_that_is_named_and_refused_is_exit_2(necroscope: Run, document: Document, tmp_path: Path) -> None:
    busy, left = open_segment(tmp_path, MOMENTS[:6]), open_segment(tmp_path, MOMENTS[5:])
    with locked(busy.folder / LOCK, LOCK_MODE):
        body = document("seal", busy.folder, left.folder, exit_code=2)
        assert body["sealed"] == [str(left.folder)]
        assert [one["folder"] for one in body["refused"]] == [str(busy.folder)]
        body = document("seal", busy.folder, exit_code=2)
        assert "still being written" in body["error"]["what"], "the recorder reads it"


def test_room_is_made_for_every_host(document: Document, tmp_path: Path) -> None:
    for host in ("node-17", "node-18"):
        sealed_segment(tmp_path, MOMENTS[:6], host=host)
        open_segment(tmp_path, MOMENTS[5:], host=host)
    body = document("seal", "--store", tmp_path, "--budget", "1")
    assert len(body["sealed"]) == 2
    assert sorted(path.parent.name for path in tmp_path.glob("*/2*")) == ["node-17", "node-18"]


def test_a_journal_that_says_how_its_tables_look_is_sealed_without_any_source(tmp_path: Path) -> None:
    """A recorder seals every two minutes, and most of that was to start."""
    segment = open_segment(tmp_path, MOMENTS)
    journal = segment.folder / JOURNAL
    journal.write_bytes(layout_frame() + journal.read_bytes())
    program = "import sys; from necroscope.cli.main import main; code = main(sys.argv[1:]); "
    program += "heavy = {'necroscope.sources.catalog', 'necroscope.profiles.import_', 'subprocess'}; "
    program += "sys.exit(code or sorted(heavy & {*sys.modules}) or 0)"
    words = [sys.executable, "-c", program, "seal", "--json", str(segment.folder)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert read_moments(read_segment(segment.folder)) == MOMENTS
