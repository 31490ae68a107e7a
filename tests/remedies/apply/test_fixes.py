"""What `verify` said, as it is kept beside a fix."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from necroscope.errors import StoreError
from necroscope.model.kept_verdict import KeptVerdict
from necroscope.model.verdict import Comparison, Measure, Verdict, Verification
from necroscope.remedies.apply.fixes import VERDICT, keep_verdict, read_fixes, read_verdict
from necroscope.remedies.apply.fixes_folder import fixes_folder
from tests.remedies.on_record import applied_fix, plan_of

AT_NS = 1_776_247_300 * 10**9
COMPARISON = Comparison(
    quantity="nic-resets",
    subject="eth0",
    unit="resets/day",
    is_goal=True,
    before=Measure(2880.0, 30.0, 1),
    after=None,
    ratio=None,
    low=None,
    high=0.5,
    probability_better=0.75,
    verdict=Verdict.INCONCLUSIVE,
    needed_seconds=156.0,
    why="it may be chance",
)


def kept_of(fix: str) -> KeptVerdict:
    verification = Verification(fix, AT_NS, 30.0, 15.0, (COMPARISON,), Verdict.BETTER, "it helped", None)
    return KeptVerdict(AT_NS + 10**9, 15.0, None, verification)


@pytest.fixture
def fix(tmp_path: Path) -> str:
    return applied_fix(tmp_path, plan_of(()), AT_NS, AT_NS)


def test_the_newest_verdict_is_kept_as_it_was_given(tmp_path: Path, fix: str) -> None:
    assert read_verdict(tmp_path, fix) is None
    kept = kept_of(fix)
    for one in (replace(kept, window_seconds=600.0), kept):
        keep_verdict(tmp_path, one)
    assert read_verdict(tmp_path, fix) == kept
    assert (fixes_folder(tmp_path) / fix / VERDICT).stat().st_mode & 0o777 == 0o600


def test_it_is_no_part_of_what_the_fix_has_come_to(tmp_path: Path, fix: str) -> None:
    before = read_fixes(tmp_path)
    keep_verdict(tmp_path, kept_of(fix))
    assert read_fixes(tmp_path) == before and not before.damaged


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"schema": 99}', '{"schema": 1, "at_ns": 1}'])
def test_what_cannot_be_read_is_an_error_that_names_the_file(tmp_path: Path, fix: str, text: str) -> None:
    path = fixes_folder(tmp_path) / fix / VERDICT
    path.write_text(text)
    with pytest.raises(StoreError, match=VERDICT):
        read_verdict(tmp_path, fix)


def test_without_a_folder_of_the_fix_nothing_is_made(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        keep_verdict(tmp_path, kept_of("20990101T000000Z-reboot"))
    assert list(tmp_path.iterdir()) == [] and not fixes_folder(tmp_path).exists()
