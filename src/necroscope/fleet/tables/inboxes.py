"""What waits in the inboxes of all hosts: listed, and read many at a time, since each part is small."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

from necroscope.fleet.place.place import Place, Stored
from necroscope.fleet.tables.parts import (
    LARGEST_BYTES,
    Part,
    RejectedError,
    parse_part,
    parse_section,
    part_order,
)

PARTS_AT_ONCE = 20_000  # and no more bytes than this: what is held in memory
BYTES_AT_ONCE = 64 << 20


@dataclass(frozen=True, slots=True)
class Batch:
    """Parts that could be read, and the names of those that could not, with the reason."""

    parts: tuple[Part, ...]
    rejected: dict[str, str]
    sections: dict[str, list[dict[str, Any]]]  # the rows of those that were not known


def waiting_parts(place: Place, threads: ThreadPoolExecutor) -> list[Stored]:
    """Everything in all inboxes, in the order of the times in their names."""
    inboxes = [f"{of}/{one}/inbox/" for of in ("hosts", "clusters") for one in place.folders(f"{of}/")]
    found = [one for some in threads.map(lambda inbox: list(place.below(inbox)), inboxes) for one in some]
    return sorted(found, key=lambda one: (part_order(one.name), one.name))


def batches(stored: Sequence[Stored]) -> Iterator[list[Stored]]:
    """So many at a time as fit into memory; one at least."""
    batch: list[Stored] = []
    size = 0
    for one in stored:
        if batch and (len(batch) >= PARTS_AT_ONCE or size + one.bytes > BYTES_AT_ONCE):
            yield batch
            batch, size = [], 0
        batch.append(one)
        size += one.bytes
    if batch:
        yield batch


def read_batch(
    place: Place, batch: Sequence[Stored], known: frozenset[str], threads: ThreadPoolExecutor
) -> Batch:
    """Read and check; `known` are the sections whose facts are in the tables already."""
    sections: dict[str, list[dict[str, Any]]] = {}
    read = partial(_read, place, known, sections)
    parts, rejected = [], {}
    for one, result in zip(batch, threads.map(read, batch), strict=True):
        if isinstance(result, str):
            rejected[one.name] = result
        elif result is not None:
            parts.append(result)
    named = {section_id for part in parts for section_id in part.sections.values()}
    return Batch(tuple(parts), rejected, {id: rows for id, rows in sections.items() if id in named})


def _read(
    place: Place, known: frozenset[str], sections: dict[str, list[dict[str, Any]]], stored: Stored
) -> Part | str | None:
    """A part, or why it is none; None: it is gone."""
    if stored.bytes > LARGEST_BYTES:
        return f"it is too large: {stored.bytes} bytes"
    content = place.read(stored.name, LARGEST_BYTES)
    if content is None:
        return None
    try:
        part = parse_part(stored.name, content)
        for section, id in part.sections.items():
            if id not in known and id not in sections:
                sections[id] = parse_section(
                    section, id, place.read(f"hosts/{part.host}/blobs/{id}", LARGEST_BYTES)
                )
    except RejectedError as error:
        return str(error)
    return part
