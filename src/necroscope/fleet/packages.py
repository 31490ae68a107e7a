"""The packages that only the fleet needs, and what to say where they are missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from necroscope.errors import NotInstalledError

PACKAGES = frozenset({"duckdb", "numpy", "pyarrow", "ray", "scipy"})


@contextmanager
def needs_packages() -> Iterator[None]:
    """Say which package is missing, and how to get it."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in PACKAGES:
            raise
        hint = "pip install ray" if error.name == "ray" else "make fleet, or pip install 'necroscope[fleet]'"
        raise NotInstalledError(f"this needs the package {error.name}", hint=hint) from error
