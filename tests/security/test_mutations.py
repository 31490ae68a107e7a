"""Attack: damaged and hostile files of every kind that we read (see mutations.py)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.security.mutations import KINDS

CHECKOUT = Path(__file__).parents[2]
MAX_MEGABYTES = 1024
QUICK = 25
MANY = dict.fromkeys(KINDS, 1500) | {"captures": 1000}  # 10,000 in all


def mutate(kind: str, count: int, seed: int) -> None:
    command = [sys.executable, "-m", "tests.security.mutations", kind, str(count), str(seed)]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    body = json.loads(done.stdout.splitlines()[-1])
    assert body["failures"] == []
    assert body["tried"] == count
    assert body["megabytes"] <= MAX_MEGABYTES


@pytest.mark.parametrize("kind", KINDS)
def test_some_mutations(kind: str) -> None:
    mutate(kind, QUICK, seed=1)


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_ten_thousand_mutations(kind: str) -> None:
    assert sum(MANY.values()) == 10_000
    mutate(kind, MANY[kind], seed=2)
