"""Segments on disk: `<store>/<host>/<UTC start>/`, each complete in itself.

A segment is made in a folder whose name begins with a dot, and gets its own name when it is whole: what
has a name can be read.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from necroscope.errors import StoreError

SCHEMA = 1
DESCRIPTION = "segment.json"


@dataclass(frozen=True, slots=True)
class StoredSegment:
    """A sealed segment. Times in its files are on its own clock; `offset_ns` leads to the time of day."""

    folder: Path
    host: str
    begin_ns: int  # UTC
    end_ns: int  # UTC
    offset_ns: int  # add to a time of the segment's clock to get UTC
    description: Mapping[str, Any]

    @property
    def profile(self) -> Path:
        """The folder of its profile."""
        return self.folder / "profile"


@dataclass(frozen=True, slots=True)
class Store:
    """All segments of all hosts below one folder."""

    root: Path

    def segments(self) -> list[StoredSegment]:
        """All sealed segments, the oldest first. Folders that are not segments are left alone."""
        found = [read_segment(path.parent) for path in self.root.glob(f"*/[!.]*/{DESCRIPTION}")]
        return sorted(found, key=lambda segment: (segment.begin_ns, str(segment.folder)))

    @contextmanager
    def new_segment(self, host: str) -> Iterator[Path]:
        """A folder to fill; it is removed again unless `seal` gave it a name."""
        parent = self.root / (safe_name(host) or "unknown")
        try:
            parent.mkdir(parents=True, exist_ok=True)
            folder = Path(tempfile.mkdtemp(prefix=".making-", dir=parent))
        except OSError as error:
            hint = "--store names a folder that can be written"
            raise StoreError(f"{parent}: {error.strerror}", hint=hint) from error
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def seal(folder: Path, description: Mapping[str, Any], begin_ns: int) -> StoredSegment:
    """Describe a folder made by `new_segment`, make it durable, and give it its name."""
    files = [_describe_file(folder, path) for path in sorted(folder.rglob("*")) if path.is_file()]
    document = {"schema": SCHEMA, "state": "sealed", **description, "files": files}
    with (folder / DESCRIPTION).open("w") as file:
        json.dump(document, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    folder.chmod(0o755)
    start = f"{datetime.fromtimestamp(begin_ns / 1e9, UTC):%Y%m%dT%H%M%SZ}"
    for number in range(1000):
        name = folder.parent / (f"{start}-{number}" if number else start)
        try:
            return read_segment(folder.rename(name))
        except OSError:  # taken: another segment of the same second
            if not name.exists():
                raise
    raise StoreError(f"{folder.parent}: too many segments of {start}")


def read_segment(folder: Path) -> StoredSegment:
    """Open a sealed segment."""
    path = folder / DESCRIPTION
    try:
        document = json.loads(path.read_text())
        if document["schema"] != SCHEMA:
            raise StoreError(
                f"{path}: schema {document['schema']}, not {SCHEMA}", hint="a newer necroscope made it"
            )
        return StoredSegment(
            folder=folder,
            host=document["host"]["hostname"],
            begin_ns=document["begin_ns"],
            end_ns=document["end_ns"],
            offset_ns=document["clock"]["offset_ns"],
            description=document,
        )
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        hint = "the segment is damaged: remove its folder, or restore it"
        raise StoreError(f"{path}: {type(error).__name__}: {error}", hint=hint) from error


def default_store() -> Path:
    """/var/lib/necroscope for root, else a folder of the user's own."""
    if os.geteuid() == 0:
        return Path("/var/lib/necroscope")
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state"
    return Path(state) / "necroscope"


def safe_name(text: str) -> str:
    """A host name as the name of a folder."""
    kept = "".join(c if c.isalnum() or c in "-._" else "-" for c in text)
    return kept.lstrip(".")[:200]


def _describe_file(folder: Path, path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"name": str(path.relative_to(folder)), "bytes": path.stat().st_size, "sha256": digest}
