"""Attack: a description that is damaged on purpose, among segments that are whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from necroscope.store.retention import read_entries
from necroscope.store.store import DESCRIPTION

DAMAGED = ("[" * 100_000, '{"host": ["a"]}', '{"host": {}, "begin_ns": 1e999}', "null", "7", '"\\ud800"')


@pytest.mark.parametrize("text", DAMAGED)
def test_the_recorder_keeps_house_beside_it(tmp_path: Path, text: str) -> None:
    (tmp_path / "20261119T000000Z").mkdir()
    (tmp_path / "20261119T000000Z" / DESCRIPTION).write_text(text)
    assert read_entries(tmp_path) == []
