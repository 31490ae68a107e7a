from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from necroscope.profiles.export import FORMATS
from necroscope.profiles.export.svg import KINDS, diverging, encode_svg, fit
from necroscope.profiles.export.title import Title
from necroscope.profiles.flame import Flame
from tests.profiles.export.flames import DIFFERENCE, HOSTILE, ONE, TITLE, from_stacks, hostile, tree
from tests.profiles.export.other_tools import chromium_dom, use_svg

NAMESPACE = "{http://www.w3.org/2000/svg}"


def frames(flame: Flame, *, inverted: bool = False) -> dict[str, ElementTree.Element]:
    root = ElementTree.fromstring(encode_svg(flame, TITLE, inverted=inverted))
    return {group.attrib["data-n"]: group for group in root.iter(f"{NAMESPACE}g") if "data-n" in group.attrib}


def rect(group: ElementTree.Element, attribute: str) -> float:
    found = group.find(f"{NAMESPACE}rect")
    assert found is not None
    return float(found.attrib[attribute])


def words(flame: Flame, title: Title = TITLE) -> list[str]:
    root = ElementTree.fromstring(encode_svg(flame, title))
    return [element.text or "" for element in root.iter(f"{NAMESPACE}text")]


def tooltip(group: ElementTree.Element) -> str:
    return group.findtext(f"{NAMESPACE}title") or ""


def fill(group: ElementTree.Element) -> str:
    found = group.find(f"{NAMESPACE}rect")
    assert found is not None
    return found.attrib["fill"]


def test_widths_follow_samples() -> None:
    drawn = frames(ONE)
    assert rect(drawn["all"], "width") == 1180
    assert rect(drawn["main"], "width") == pytest.approx(1180 * 0.6)
    assert drawn["main"].attrib["data-s"] == "60"
    assert tooltip(drawn["read"]) == "read ([kernel]): 30 samples, 30.00%; 30 in itself"
    assert fill(drawn["read"]) == KINDS["kernel"]
    assert fill(drawn["idle"]) == KINDS["unknown"]


def test_root_at_the_bottom_or_at_the_top() -> None:
    upright, icicle = frames(ONE), frames(ONE, inverted=True)
    assert rect(upright["all"], "y") > rect(upright["main"], "y") > rect(upright["read"], "y")
    assert rect(icicle["all"], "y") < rect(icicle["main"], "y") < rect(icicle["read"], "y")


def test_difference_is_orange_for_more_and_blue_for_less() -> None:
    drawn = frames(DIFFERENCE)
    assert fill(drawn["new"]) == diverging(1, 1)
    for less in ("gone", "same"):  # same: 10 of 40 here, 10 of 20 before
        red, blue = int(fill(drawn[less])[1:3], 16), int(fill(drawn[less])[5:7], 16)
        assert blue > red
    assert fill(drawn["main"]) == "#ffffff"
    assert "+75.00 points against the baseline (0 samples in 2 s there)" in tooltip(drawn["new"])
    assert "-50.00 points against the baseline (10 samples in 2 s there)" in tooltip(drawn["gone"])
    assert rect(drawn["gone"], "width") > 0
    assert "orange: more here than in the baseline" in words(DIFFERENCE)
    assert "blue: less here than in the baseline" in words(DIFFERENCE)


def test_title_and_notes_are_shown() -> None:
    assert {"web-1, 5 s, core 37", "3 idle", "0 lost"} <= set(words(ONE))


def test_narrow_frames_are_left_out_and_counted() -> None:
    wide = tree({"main": 1_000_000, "rare;rarer": 10})
    assert set(frames(wide)) == {"all", "main"}
    assert "2 frames narrower than 0.3 px are left out" in words(wide)
    assert not any("left out" in line for line in words(ONE))


def test_hostile_names_are_text() -> None:
    encoded = encode_svg(hostile(), Title("<b>]]>\x00", notes=("</svg>\x1b",)))
    assert encoded.count(b"<script>") == 1
    assert len(frames(hostile())) == len(HOSTILE) + 1
    assert "<script>alert(1)</script>" in frames(hostile())
    assert "a;b\\x0ac\\x1b[31m\\x00\\u2028d" in frames(hostile())
    assert "\u202e" not in encoded.decode()
    assert ElementTree.fromstring(encoded).findtext(f"{NAMESPACE}title") == "<b>]]>\\x00"


def test_nothing_is_requested_from_elsewhere() -> None:
    text = encode_svg(ONE, TITLE).decode()
    namespaces = {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xhtml"}
    assert set(re.findall(r"https?://[^\"' ]+", text)) <= namespaces
    assert not re.search(r"href|url\(|@import|\bsrc\b|fetch\(|eval|Function\(|innerHTML", text)


def test_the_bytes_are_the_same_each_time() -> None:
    assert all(encode(DIFFERENCE, TITLE) == encode(DIFFERENCE, TITLE) for encode in FORMATS.values())


def test_no_samples() -> None:
    assert set(frames(from_stacks([[]]))) == {"all"}
    assert set(frames(from_stacks([[], [(["gone"], 1)]]))) == {"all", "gone"}


def test_names_are_cut_to_their_box() -> None:
    assert fit("schedule", 200) == "schedule"
    assert fit("schedule", 45) == "sche…"
    assert fit("schedule", 10) == ""


def test_a_reader_can_zoom_search_and_use_the_keyboard(tmp_path: Path) -> None:
    file = tmp_path / "x.svg"
    file.write_bytes(encode_svg(ONE, TITLE))
    seen = use_svg(file)
    assert seen["errors"] == []
    assert seen["zoomed"] == {"read": 1180, "main": 1180, "hidden": ["idle", "parse", "parse"]}
    assert seen["reset"] == {"main": seen["whole"], "hidden": []}
    assert seen["arrow"] == "main"
    assert seen["details"].startswith("main (/bin/web): 60 samples, 60.00%")
    assert seen["entered"] == ["idle"]
    assert (seen["intercepted"], seen["field"], seen["second"]) == (True, "search", False)
    assert seen["matched"] == "matched: 60.00 % of all"  # read is in main and counts once
    assert seen["hits"] == ["main", "read"]
    assert seen["bad"] == "not a regular expression"


def test_a_browser_runs_the_script(tmp_path: Path) -> None:
    file = tmp_path / "x.svg"
    file.write_bytes(encode_svg(ONE, TITLE))
    assert 'id="search"' in chromium_dom(file)
