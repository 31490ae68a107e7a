"""What `flame --against` compares with: quiet seconds, told by the title, also where segments are short."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Document, Run
from tests.diagnosis.sampled_seconds import HERTZ, Work, sampled_segment
from tests.stored import event_of

WALK = "kubelet: do_syscall_64 > seq_read > memcg_numa_stat_show > mem_cgroup_nr_lru_pages"
RESET, SATURATED, FREE = 40, 33, 52
LENGTH = 5  # of a segment
AROUND = "nic-reset-20260415T100040.000Z-0"


def plan(core: int, second: int) -> Work:
    """Core 0 does next to nothing but for the seconds in which kubelet fills it."""
    if core:
        return {"python": 0.5}
    return {WALK: 1.0} if SATURATED <= second < FREE else {"sshd": 0.02}


def build(root: Path, seconds: range) -> Path:
    """Short segments, with the saturation and the reset in the last one."""
    saturated = event_of("core-saturated", SATURATED, core=0, seconds=float(FREE - SATURATED))
    events = [saturated, event_of("nic-reset", RESET, core=0, device="eth0")]
    for begin in range(seconds.start, seconds.stop, LENGTH):
        last = begin + LENGTH >= seconds.stop
        sampled_segment(root, plan, seconds=range(begin, begin + LENGTH), events=events if last else ())
    return root


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return build(tmp_path / "store", range(65))


def changes(body: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """Samples here and in the baseline, by the name of a node."""
    tree = body["tree"]
    names = [tree["labels"][label]["name"] for label in tree["label"]]
    return dict(zip(names, zip(tree["total"], tree["baseline_total"], strict=True), strict=True))


def test_the_baseline_is_the_quiet_seconds_of_all_that_is_recorded_around(
    document: Document, necroscope: Run, store: Path
) -> None:
    words = ("flame", "--store", store, "--around", AROUND, "--cpu", "0", "--against", "baseline")
    body = document(*words)
    against = body["against"]
    assert against["ranges"] == [
        {"begin": "2026-04-15T10:00:00.000Z", "end": "2026-04-15T10:00:33.000Z"},
        {"begin": "2026-04-15T10:00:53.000Z", "end": "2026-04-15T10:01:05.000Z"},
    ]
    assert against["seconds"] == 33 + 12 and against["samples"] == 45 * HERTZ // 50
    said = "against 45 quiet seconds, 10:00:00 to 10:00:33 and 10:00:53 to 10:01:05"
    assert body["title"].endswith(said)
    assert changes(body)["kubelet"] == (6 * HERTZ, 0) and changes(body)["sshd"] == (0, 45)
    text = necroscope(*words).stdout
    assert "100.0% +100.0% kubelet" in text
    assert "-2.0% sshd" in text, "of the time: of the busy time there it is all"
    assert "100 % is the busy time here" in " ".join(text.split())


def test_on_another_core_the_trouble_is_no_trouble(document: Document, store: Path) -> None:
    words = ("flame", "--store", store, "--around", AROUND, "--cpu", "1", "--against", "baseline")
    assert document(*words)["against"]["seconds"] > 45


def test_without_a_quiet_second_it_says_so(necroscope: Run, document: Document, tmp_path: Path) -> None:
    root = build(tmp_path / "store", range(SATURATED, SATURATED + 15))
    words = ("flame", "--store", root, "--around", AROUND, "--cpu", "0", "--against")
    done = necroscope(*words, "baseline")
    assert done.returncode == 3 and not done.stdout
    assert "no quiet second" in done.stderr and "--against T..T" in done.stderr
    named = document(*words, "2026-04-15T10:00:42Z..2026-04-15T10:00:44Z")
    assert named["against"]["ranges"] == [
        {"begin": "2026-04-15T10:00:42.000Z", "end": "2026-04-15T10:00:44.000Z"}
    ]


def test_an_idle_core_is_a_baseline_too(necroscope: Run, store: Path) -> None:
    words = ("flame", "--store", store, "--around", AROUND, "--cpu", "0", "--process", "kubelet")
    done = necroscope(*words, "--against", "baseline")
    assert done.returncode == 0 and "100.0% +100.0% kubelet" in done.stdout


def test_what_is_not_recorded_is_no_baseline(necroscope: Run, store: Path) -> None:
    words = ("flame", "--store", store, "--around", AROUND, "--against")
    done = necroscope(*words, "2026-04-15T09:00:00Z..2026-04-15T09:01:00Z")
    assert done.returncode == 3 and "no samples there" in done.stderr
    assert necroscope(*words, "yesterday").returncode == 2


def test_a_stretch_that_is_recorded_in_part_counts_with_that_part(document: Document, store: Path) -> None:
    words = ("flame", "--store", store, "--around", AROUND, "--cpu", "1", "--against")
    body = document(*words, "2026-04-15T09:00:00Z..2026-04-15T10:00:10Z")
    assert body["against"]["seconds"] == 10 and body["against"]["samples"] == 10 * HERTZ // 2


def test_a_damaged_segment_is_left_out_of_the_baseline(document: Document, store: Path) -> None:
    damaged = sorted((store / "node-17").glob("2*"))[1]
    (damaged / "profile/samples.parquet").write_bytes(b"no")
    words = ("flame", "--store", store, "--around", AROUND, "--cpu", "0", "--against", "baseline")
    body = document(*words)
    assert body["against"]["seconds"] == 45 - LENGTH
    assert [row["folder"] for row in body["damaged"]] == [str(damaged)]


def test_sides_that_were_sampled_at_different_rates_say_so(document: Document, store: Path) -> None:
    words = ("flame", "--store", store, "--around", AROUND, "--cpu", "0", "--against", "baseline")
    assert not any(" Hz" in note for note in document(*words)["notes"])
    for number, file in enumerate(sorted((store / "node-17").glob("2*/segment.json"))):
        description = json.loads(file.read_text())
        description["profile"]["command"] = ["perf", "record", "-F", "49" if number < 3 else "97"]
        file.write_text(json.dumps(description))
    assert any("sampled at 49 and 97 Hz" in note for note in document(*words)["notes"])


def test_a_report_compares_with_the_same_seconds(document: Document, store: Path) -> None:
    body = document("report", "--store", store, "--around", AROUND)
    (flames,) = [section for section in body["sections"] if section["id"] == "flames"]
    captions = [block["caption"] for block in flames["blocks"]]
    assert len(captions) == 2 and "shares are of busy time" in captions[0]
    assert "against 45 quiet seconds, 10:00:00 to 10:00:33 and 10:00:53 to 10:01:05" in captions[1]


def test_a_report_without_quiet_seconds_says_so(document: Document, tmp_path: Path) -> None:
    root = build(tmp_path / "store", range(SATURATED, SATURATED + 15))
    body = document("report", "--store", root, "--around", AROUND)
    (flames,) = [section for section in body["sections"] if section["id"] == "flames"]
    assert "nothing to compare it with: no quiet second" in flames["blocks"][1]["text"]
