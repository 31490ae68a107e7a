"""The facts of a generated fleet as rows of its tables: what a section has, and which host had it when."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lab.fleets.fleet import Fleet
from lab.fleets.made_of import ABSENT, MadeOf

HOUR = 3600.0


@dataclass(frozen=True, slots=True, eq=False)
class FactIds:
    """Which facts each host has, before and after its change."""

    ids: tuple[str, ...]  # the last is empty: not known
    codes: NDArray[np.int32]  # 2 x hosts, places in `ids`
    sets: pa.Table
    sections: pa.Table


def make_fact_ids(made: MadeOf) -> FactIds:
    """Ids of all different sets of facts, and their rows."""
    sections = list(dict.fromkeys(fact.partition("/")[0] for fact in made.facts))
    rows: list[tuple[str, str, str]] = []
    codes, names = [], []
    for section in sections:
        own, ids = _section(made, section, rows)
        codes.append(own)
        names.append(ids)
    every = np.stack(codes, axis=-1).reshape(-1, len(sections))
    different, place = np.unique(every, axis=0, return_inverse=True)
    sets = [
        {section: names[n][code] for n, (section, code) in enumerate(zip(sections, row, strict=True))}
        for row in different
    ]
    ids = [_digest(one) for one in sets]
    codes_of_hosts: NDArray[np.int32] = place.reshape(2, made.hosts).astype(np.int32)
    codes_of_hosts[:, ~made.has_facts] = len(ids)
    set_rows = [(id, section, its) for id, one in zip(ids, sets, strict=True) for section, its in one.items()]
    return FactIds(
        (*ids, ""),
        codes_of_hosts,
        _table(set_rows, ("facts", "section", "section_id")),
        _table(sorted(set(rows)), ("section_id", "name", "value")),
    )


def fact_rows(fleet: Fleet, facts: FactIds, names: pa.Array) -> Iterator[pa.Table]:
    """Who had which facts, hour by hour; each host looks at its own minute."""
    plan = fleet.plan
    minute = (np.arange(plan.hosts) * 7919 % 3600).astype(float)
    for hour in range(int(np.ceil(plan.seconds / HOUR))):
        at = hour * HOUR + minute
        code = np.where(at >= fleet.made.changes_at, facts.codes[1], facts.codes[0])
        known = fleet.lives.is_recorded(np.arange(plan.hosts), at) & (code < len(facts.ids) - 1)
        host = np.flatnonzero(known)
        yield pa.table(
            {
                "host": coded(host, names),
                "time_us": plan.begin_us + (at[host] * 1e6).astype(np.int64),
                "facts": coded(code[host], pa.array(facts.ids)),
            }
        )


def coded(codes: NDArray[np.integer[Any]], names: pa.Array) -> pa.DictionaryArray:
    """A column of names, with those in its dictionary that occur: each file has one."""
    used, place = np.unique(codes, return_inverse=True)
    return pa.DictionaryArray.from_arrays(place.astype(np.int32), names.take(pa.array(used)))


def _section(
    made: MadeOf, section: str, rows: list[tuple[str, str, str]]
) -> tuple[NDArray[np.int_], list[str]]:
    """Which of all different contents of a section each host has; their rows are added."""
    facts = {name: fact for name, fact in made.facts.items() if name.partition("/")[0] == section}
    codes = np.stack([fact.codes for fact in facts.values()], axis=-1).reshape(-1, len(facts))
    different, place = np.unique(codes, axis=0, return_inverse=True)
    ids = []
    for row in different:
        content = {
            name.partition("/")[2]: fact.values[code]
            for (name, fact), code in zip(facts.items(), row, strict=True)
            if code != ABSENT
        }
        ids.append(_digest({"section": section, "facts": content}))
        rows += [(ids[-1], name, value) for name, value in content.items()]
    return place.reshape(2, made.hosts), ids


def _digest(document: object) -> str:
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _table(rows: list[tuple[str, str, str]], columns: tuple[str, str, str]) -> pa.Table:
    return pa.table({name: pa.array([row[n] for row in rows], pa.string()) for n, name in enumerate(columns)})
