"""What the package manager of a machine or an image says is installed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Package(NamedTuple):
    """One installed package, named as its own manager names it."""

    name: str
    version: str  # with the epoch where there is one: 1:2.38-4
    architecture: str  # empty where the package has none, as the keys that RPM keeps


@dataclass(frozen=True, slots=True)
class Packages:
    """All installed packages, sorted."""

    manager: str  # dpkg, rpm
    installed: tuple[Package, ...]
