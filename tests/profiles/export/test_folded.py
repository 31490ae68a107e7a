from __future__ import annotations

from pathlib import Path

from necroscope.profiles.export.folded import encode_folded
from tests.profiles.export.flames import DIFFERENCE, HOSTILE, ONE, TITLE, from_stacks, hostile
from tests.profiles.export.other_tools import speedscope_import


def test_stacks_and_counts() -> None:
    assert encode_folded(ONE, TITLE).decode().splitlines() == [
        "idle 40",
        "main 10",
        "main;parse;parse 20",
        "main;read 30",
    ]


def test_difference_has_the_baseline_first() -> None:
    assert encode_folded(DIFFERENCE, TITLE).decode().splitlines() == [
        "main;gone 10 0",
        "main;new 0 30",
        "main;same 10 10",
    ]


def test_hostile_names_stay_one_frame_on_one_line() -> None:
    lines = encode_folded(hostile(), TITLE).decode().splitlines()
    assert len(lines) == len(HOSTILE)
    assert all(line.endswith(" 1") and ";" not in line for line in lines)
    assert "a:b\\x0ac\\x1b[31m\\x00\\u2028d 1" in lines
    assert "worker_12 1" in lines  # "worker 12 1" would be a difference
    assert "[unknown] 1" in lines


def test_samples_without_a_frame_are_counted() -> None:
    assert encode_folded(from_stacks([[([], 3), (["main"], 4)]]), TITLE) == b"all 3\nmain 4\n"


def test_empty() -> None:
    assert encode_folded(from_stacks([[]]), TITLE) == b""


def test_speedscope_reads_the_same_totals(tmp_path: Path) -> None:
    file = tmp_path / "x.folded"
    file.write_bytes(encode_folded(ONE, TITLE))
    (profile,) = speedscope_import(file)
    assert profile["total"] == 100
    assert {name: own for name, _, own, _ in profile["frames"]} == {
        "main": 10,
        "read": 30,
        "parse": 20,
        "idle": 40,
    }
