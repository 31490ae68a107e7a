from __future__ import annotations

import json
from pathlib import Path

from necroscope.model.visible_text import LINES, visible_text
from necroscope.profiles.export.speedscope import encode_speedscope
from tests.profiles.export.flames import DIFFERENCE, HOSTILE, ONE, TITLE, hostile
from tests.profiles.export.other_tools import speedscope_import


def test_totals_are_exact_and_the_bytes_are_the_same_each_time() -> None:
    encoded = encode_speedscope(ONE, TITLE)
    assert encoded == encode_speedscope(ONE, TITLE)
    file = json.loads(encoded)
    (profile,) = file["profiles"]
    assert profile["endValue"] == sum(profile["weights"]) == 100
    assert len(profile["samples"]) == len(profile["weights"])
    names = [[file["shared"]["frames"][frame]["name"] for frame in stack] for stack in profile["samples"]]
    assert ["main", "read"] in names
    assert {"name": "read", "file": "[kernel]"} in file["shared"]["frames"]
    assert "3 idle" in file["name"]
    assert "0 lost" in file["name"]


def test_difference_has_both_windows() -> None:
    window, baseline = json.loads(encode_speedscope(DIFFERENCE, TITLE))["profiles"]
    assert (window["endValue"], baseline["endValue"]) == (40, 20)
    assert baseline["name"].startswith("baseline of ")


def test_speedscope_reads_the_same_totals(tmp_path: Path) -> None:
    file = tmp_path / "x.speedscope.json"
    file.write_bytes(encode_speedscope(ONE, TITLE))
    (profile,) = speedscope_import(file)
    assert profile["total"] == 100
    assert sorted(profile["frames"]) == [
        ["idle", "", 40, 40],
        ["main", "/bin/web", 10, 60],
        ["parse", "/bin/web", 20, 20],
        ["read", "[kernel]", 30, 30],
    ]


def test_speedscope_reads_hostile_names(tmp_path: Path) -> None:
    file = tmp_path / "x.speedscope.json"
    file.write_bytes(encode_speedscope(hostile(), TITLE))
    (profile,) = speedscope_import(file)
    assert profile["total"] == len(HOSTILE)
    wanted = {visible_text(name, LINES) or "[unknown]" for name in HOSTILE}
    assert wanted <= {name for name, *_ in profile["frames"]}
