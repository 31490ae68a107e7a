"""The sealed files are open to others: what docs/format.md shows works in DuckDB."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import duckdb
import pytest

from necroscope.profiles.import_ import import_file
from necroscope.store.store import Store, StoredSegment

ROOT = Path(__file__).parents[2]
FOLDED = """kubelet;read_[k];memcg_numa_stat_show_[k] 30
python;main;train_step 90
swapper;do_idle_[k];default_idle_[k] 60
"""


def rows_of(query: str) -> list[Any]:
    return duckdb.connect().execute(query).fetchall()


@pytest.fixture
def segment(tmp_path: Path) -> StoredSegment:
    path = tmp_path / "stacks.folded"
    path.write_text(FOLDED)
    return import_file(Store(tmp_path / "store"), path, host="node")


def test_the_query_of_the_documentation(segment: StoredSegment) -> None:
    text = (ROOT / "docs/format.md").read_text()
    (query,) = (sql for sql in re.findall(r"```sql\n(.*?)```", text, re.DOTALL) if "profile/" in sql)
    rows = rows_of(query.replace("'profile/", f"'{segment.profile}/"))
    assert rows == [("memcg_numa_stat_show", 30)]


def test_every_column_is_documented(segment: StoredSegment) -> None:
    text = (ROOT / "docs/format.md").read_text()
    for path in segment.profile.glob("*.parquet"):
        columns = rows_of(f"DESCRIBE SELECT * FROM '{path}'")
        for name, *_ in columns:
            assert f"`{name}`" in text, (path.name, name)


def test_stacks_are_lists_of_frames(segment: StoredSegment) -> None:
    frames = dict(rows_of(f"SELECT frame, name FROM '{segment.profile}/frames.parquet'"))
    ((stack,),) = rows_of(f"SELECT frames FROM '{segment.profile}/stacks.parquet' WHERE idle")
    assert [frames[frame] for frame in stack] == ["do_idle", "default_idle"]
