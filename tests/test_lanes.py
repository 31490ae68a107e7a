"""Who runs beside whom is as it is meant, and every exception is still there."""

from __future__ import annotations

import pytest

from tests.lanes import ALONE, ALONE_TESTS, MACHINE, ROOT, is_alone, lane_of


@pytest.mark.parametrize(
    ("test", "lane"),
    [
        ("tests/real/test_units.py::test_x", MACHINE),
        ("tests/deploy/test_systemd_unit.py::test_x", MACHINE),
        ("tests/profiles/test_capture.py::test_x", MACHINE),
        ("tests/remedies/test_purge_zombies.py::test_x", MACHINE),
        ("tests/web/test_live.py::test_x", MACHINE),
        ("tests/web/test_axe.py::test_x", "tests/web/"),
        ("tests/web/test_offline.py::test_x", "tests/web/"),
        ("tests/model/test_reading.py::test_x[a::b]", "tests/model/test_reading.py"),
        ("tests/lab/test_qemu.py::test_x[a::b]", "tests/lab/test_qemu.py::test_x[a::b]"),
        ("tests/real/test_purge_kernels.py::test_x", "tests/real/test_purge_kernels.py::test_x"),
    ],
)
def test_what_touches_the_machine_shares_a_lane(test: str, lane: str) -> None:
    assert lane_of(test) == lane


def test_what_is_alone_is_there_and_says_why() -> None:
    assert all((ROOT / file).is_file() for file in ALONE)
    texts = [path.read_text() for path in (ROOT / "tests").rglob("test_*.py")]
    assert all(any(f"def {name}(" in text for text in texts) for name in ALONE_TESTS)
    assert all(ALONE.values()) and all(ALONE_TESTS.values())


def test_alone_by_file_or_by_name(request: pytest.FixtureRequest) -> None:
    assert is_alone("tests/real/test_cores.py", "test_x")
    assert is_alone("tests/real/test_culprit_recordings.py", next(iter(ALONE_TESTS)))
    assert not is_alone("tests/real/test_culprit_recordings.py", "test_a_planted_spike_is_named")
    assert request.node.get_closest_marker("alone") is None
