"""The same as in test_ship_s3.py, for as long as a bad afternoon begins."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fleet.seaweed import Seaweed, needs_seaweed
from tests.fleet.ship.test_ship_s3 import outage, s3

__all__ = ["s3"]  # the fixture
pytestmark = [pytest.mark.long, needs_seaweed]


def test_the_store_is_away_for_ten_minutes(tmp_path: Path, s3: Seaweed) -> None:
    outage(tmp_path, s3, 600, 5.0, "long-outage")
