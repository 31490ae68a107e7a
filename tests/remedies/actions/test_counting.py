from __future__ import annotations

from pathlib import Path

import pytest

from necroscope.errors import CannotLookError
from necroscope.remedies.actions.counting import count_zombies, memory_hierarchy
from necroscope.sources.host import Host


def test_zombies_that_cannot_be_counted_are_an_error_and_not_none(tmp_path: Path) -> None:
    with pytest.raises(CannotLookError, match="cannot be counted") as caught:
        count_zombies(Host(tmp_path))
    assert caught.value.hint


def test_a_machine_without_memory_cgroups_says_so(tmp_path: Path) -> None:
    with pytest.raises(CannotLookError, match="cannot be seen"):
        memory_hierarchy(Host(tmp_path))
