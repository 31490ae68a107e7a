"""Every test is in the tier and the lane that it is meant to be in."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.tiers import ALONE, GUESTS, REAL_FILES, SMOKE_FILE, ZOMBIES, file_of, lane_of, touches_machine

ROOT = Path(__file__).parents[1]
# What makes real faults or starts real machines; what only describes them is not meant.
TOUCHES = re.compile(
    r"^(?:from|import) "
    r"(?:lab\.(?:faults|recorders|machines\.nspawn|training\.(?:cluster|network))|tests\.real\.recorders"
    r"|lab import .*\b(?:faults|recorders))\b",
    re.MULTILINE,
)
COUNTS_ZOMBIES = re.compile(
    r"\b(?:tracked|leaked)\(\)|^from lab\.faults\.zombies import .*\bzombies\b", re.MULTILINE
)
STARTS_GUESTS = re.compile(r"^from lab\.machines\.qemu import", re.MULTILINE)
ONLY_COMPUTES = {  # with the reason
    "tests/lab/test_kernels_scenario.py": "what is not marked long judges written answers",
    "tests/lab/test_pinterest_rounds.py": "arithmetic on what a kubelet did",
    "tests/remedies/plan/test_reboot.py": "asks only whether zombies can be made",
    "tests/web/test_fleet_real.py": "its only test is marked",
    "tests/web/test_three_clicks.py": "the name of a function",
}


@pytest.mark.parametrize(
    ("test", "lane"),
    [
        ("tests/real/test_purge.py::test_x", "zombies"),
        ("tests/sources/test_zombie_holders.py::test_x", "zombies"),
        ("tests/real/test_units.py::test_x", "tests/real/test_units.py"),
        ("tests/model/test_reading.py::test_x[a::b]", "tests/model/test_reading.py"),
        ("tests/lab/test_qemu.py::test_x[a::b]", "tests/lab/test_qemu.py::test_x[a::b]"),
    ],
)
def test_lanes(test: str, lane: str) -> None:
    assert lane_of(test) == lane


def test_every_file_that_is_named_is_there() -> None:
    named = {*REAL_FILES, *ZOMBIES, *ALONE, *GUESTS, SMOKE_FILE, *ONLY_COMPUTES}
    assert [file for file in sorted(named) if not (ROOT / file).is_file()] == []
    assert all(ALONE.values())


def test_what_touches_the_machine_is_not_among_what_only_computes() -> None:
    wrong = []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        file, text = str(path.relative_to(ROOT)), path.read_text()
        if TOUCHES.search(text) and not (
            touches_machine(file)
            or is_marked(text, "servers", "long")
            or file in {SMOKE_FILE, *ONLY_COMPUTES}
        ):
            wrong.append(file)
    assert wrong == [], "list them in tests/tiers.py"


def test_what_counts_or_makes_zombies_of_the_whole_machine_is_in_their_lane() -> None:
    wrong = []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        file, text = str(path.relative_to(ROOT)), path.read_text()
        if COUNTS_ZOMBIES.search(text) and file not in {*ZOMBIES, *GUESTS, *ALONE}:
            wrong.append(file)
    assert wrong == [], "list them in tests/tiers.py"


def test_marks(request: pytest.FixtureRequest) -> None:
    """A run of this file alone shows one test without a mark; a run of all shows all of them."""
    for item in request.session.items:
        file = file_of(item.nodeid)
        assert (item.get_closest_marker("alone") is not None) == (file in ALONE), item.nodeid
        assert not touches_machine(file) or item.get_closest_marker("real"), item.nodeid


def test_every_file_with_guests_is_listed() -> None:
    guests = {
        str(path.relative_to(ROOT))
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        if STARTS_GUESTS.search(path.read_text())
    }
    assert guests <= GUESTS


def is_marked(text: str, *names: str) -> bool:
    """Return whether a file's `pytestmark` has one of some marks: all of its tests do, then."""
    values = [
        ast.unparse(node.value)
        for node in ast.parse(text).body
        if isinstance(node, ast.Assign) and "pytestmark" in map(ast.unparse, node.targets)
    ]
    return any(f"pytest.mark.{name}" in value for value in values for name in names)
