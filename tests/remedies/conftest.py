from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from necroscope.remedies.apply.site import Site
from necroscope.sources.host import Host
from tests.remedies.trees import make_tree, tree_remedy


@pytest.fixture
def image(tmp_path: Path) -> Iterator[Path]:
    """A tree, and a remedy for it."""
    with tree_remedy():
        yield make_tree(tmp_path / "image")


@pytest.fixture
def site(image: Path, tmp_path: Path) -> Site:
    """The tree as a machine, and a store for the record."""
    return Site(Host(image), tmp_path / "store")
