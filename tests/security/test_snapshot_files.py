"""Attack: somebody sends a snapshot that keeps `drift` busy for hours."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from necroscope.errors import SnapshotError
from necroscope.inventory.snapshot import read_snapshot


@pytest.mark.parametrize("part", ["facts", "not_read"])
def test_sections_without_an_end(tmp_path: Path, part: str) -> None:
    document = {"schema": 1, "kind": "necroscope-snapshot", "host": "evil", "facts": {}, "not_read": {}}
    value = {"a": "b"} if part == "facts" else "why"
    document[part] = {f"s{number}": value for number in range(200_000)}
    (tmp_path / "evil.json").write_text(json.dumps(document))
    with pytest.raises(SnapshotError, match="100 sections"):
        read_snapshot(tmp_path / "evil.json")
