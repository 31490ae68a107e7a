"""What drivers on a real cluster do, one word each; each prints one line of JSON in the end.

    python -m tests.fleet.engine.ray_driver WORD ADDRESS [PLACE]

It prints `begun` when its tasks run, so that somebody can kill a node in the middle.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from necroscope.errors import NecroscopeError
from necroscope.fleet.call_trees import ProfilePart, merge_call_trees
from necroscope.fleet.engine.engine import Engine, LocalEngine
from necroscope.fleet.engine.gathering import Gathering
from necroscope.fleet.engine.ray_tasks import CHUNKS_PER_CPU, FAN_IN, chunks_of_files, ray_engine
from necroscope.fleet.place.place import open_place
from necroscope.fleet.tables.fleet_tables import FleetTables
from necroscope.fleet.tables.read_tables import read_tables
from necroscope.model.timestamp import LATEST_US
from tests.fleet.engine.generated_tables import BEGIN_US, drawn_gathering
from tests.fleet.test_call_trees import SECOND_NS, SECONDS

GATHERINGS = 25
ITEMS = 60
NUMBERS = 200_000  # of a result: too large to be kept with the driver
# Some milliseconds a row, so that a node can be killed in the middle.
SLOW = Gathering(
    "segments",
    ("host",),
    (("sum", "sum", "sum(list_sum(range(begin_us % 1000 + 60000))::BIGINT)"), ("rows", "sum", "count(*)")),
)


def main(word: str, address: str, *rest: str) -> None:
    """Do it."""
    try:
        with ray_engine(address) as engine:
            said = WORDS[word](engine, *(read_tables(open_place(place)) for place in rest))
    except NecroscopeError as error:
        said = {"error": type(error).__name__, "what": error.what, "hint": error.hint}
    _tell(json.dumps(said))


def gatherings(engine: Engine, tables: FleetTables) -> dict[str, object]:
    """Which of many random gatherings differ from what one process finds."""
    differ = []
    for seed in range(GATHERINGS):
        gathering, begin_us, end_us = drawn_gathering(random.Random(seed))
        here = LocalEngine().gather(tables, gathering, begin_us, end_us)
        if not engine.gather(tables, gathering, begin_us, end_us).equals(here, check_metadata=False):
            differ.append(seed)
    chunks = len(chunks_of_files(tables.index.of("segments", 0, LATEST_US), 3 * CHUNKS_PER_CPU))
    last = engine.gather(tables, SLOW, BEGIN_US, BEGIN_US + 1).num_rows
    return {"differ": differ, "of": GATHERINGS, "is_a_tree": chunks > FAN_IN, "rows_of_a_microsecond": last}


def maps(engine: Engine) -> dict[str, object]:
    """The same for map and reduce, with few items and many, and for what raises an error."""
    sizes = (0, 1, 2, 7, 100)
    same_map = all(
        list(engine.map(_numbers, range(n))) == list(LocalEngine().map(_numbers, range(n))) for n in sizes
    )
    same_reduce = all(
        engine.reduce(_numbers, _joined, range(n)) == LocalEngine().reduce(_numbers, _joined, range(n))
        for n in sizes
    )
    try:
        list(engine.map(_fail, [1]))
    except NecroscopeError as error:
        failed = [type(error).__name__, error.what, error.hint]
    return {"map": same_map, "reduce": same_reduce, "failed": failed}


def call_trees(engine: Engine, tables: FleetTables) -> dict[str, object]:
    """Call trees of profiles beside the tables, which all nodes see."""
    folders = sorted((Path(tables.address) / "profiles").iterdir())
    parts = [ProfilePart(folder, 0, SECONDS * SECOND_NS) for folder in folders]
    splits: tuple[Literal["whole"], Literal["comm"]] = ("whole", "comm")
    same = [
        merge_call_trees(engine, parts, split) == merge_call_trees(LocalEngine(), parts, split)
        for split in splits
    ]
    return {"same": same, "profiles": len(folders)}


def slow_gather(engine: Engine, tables: FleetTables) -> dict[str, object]:
    """A gathering that takes some seconds."""
    _tell()
    began = time.monotonic()
    found = engine.gather(tables, SLOW, 0, LATEST_US)
    seconds = time.monotonic() - began
    is_same = found.equals(LocalEngine().gather(tables, SLOW, 0, LATEST_US), check_metadata=False)
    return {"same": is_same, "seconds": seconds, "rows": found.num_rows}


def slow_reduce(engine: Engine) -> dict[str, object]:
    """A sum of large arrays, of which a part is on every node."""
    _tell()
    began = time.monotonic()
    found = engine.reduce(partial(_slow_array, 0.4), _summed, range(ITEMS))
    seconds = time.monotonic() - began
    wanted = LocalEngine().reduce(partial(_slow_array, 0.0), _summed, range(ITEMS))
    return {"same": bool((found == wanted).all()), "seconds": seconds}


def _tell(line: str = "begun") -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _numbers(item: int) -> list[int]:
    return list(range(item % 5))


def _joined(parts: Sequence[list[int]]) -> list[int]:
    return [number for part in parts for number in part]


def _fail(item: int) -> int:
    from necroscope.errors import PlaceError

    raise PlaceError(f"nothing at {item}", hint="look elsewhere")


def _slow_array(seconds: float, item: int) -> npt.NDArray[np.int64]:
    time.sleep(seconds)
    return np.arange(NUMBERS, dtype=np.int64) * (item + 1)


def _summed(parts: Sequence[npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
    total = np.zeros(NUMBERS, dtype=np.int64)
    for part in parts:
        total += part
    return total


WORDS: dict[str, Callable[..., dict[str, object]]] = {
    "gatherings": gatherings,
    "maps": maps,
    "call-trees": call_trees,
    "slow-gather": slow_gather,
    "slow-reduce": slow_reduce,
}

if __name__ == "__main__":
    main(*sys.argv[1:])
