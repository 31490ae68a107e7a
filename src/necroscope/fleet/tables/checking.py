"""Whether a row from elsewhere fits into a table: one that does not must not spoil all others of its file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any

import pyarrow as pa

from necroscope.fleet.tables.columns import KEYS, TABLES, TIMES
from necroscope.model.timestamp import LATEST_US

FARTHEST = 2**62


def checked_row(table: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of the table from a row, null where it has none. ValueError: a value cannot be one."""
    made = {}
    for name, fits in CHECKS[table]:
        value = made[name] = row.get(name)
        if value is not None and not fits(value):
            raise ValueError(f"{name} cannot be {str(value)[:50]!r}")
    for name in FRACTIONS[table]:  # a whole number of more digits than a fraction has cannot be converted
        if (fraction := made[name]) is not None:
            made[name] = float(fraction)
    for name in KEYS[table]:
        if made[name] is None:
            raise ValueError(f"a row of {table} has no {name}")
    if table in TIMES and not 0 <= (time_us := made[TIMES[table]] or -1) < LATEST_US:
        raise ValueError(f"{TIMES[table]} is no time: {time_us}")
    return made


def _is_text(value: Any) -> bool:
    """Half a character cannot be written."""
    try:
        return isinstance(value, str) and (value.isascii() or bool(value.encode()))
    except UnicodeEncodeError:
        return False


def _is_truth(value: Any) -> bool:
    return isinstance(value, bool)


def _is_fraction(value: Any) -> bool:
    return (_is_whole(value) or isinstance(value, float)) and isfinite(value)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -FARTHEST <= value < FARTHEST


def _is_small(value: Any) -> bool:
    return _is_whole(value) and -(2**31) <= value < 2**31


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _check(kind: pa.DataType) -> Callable[[Any], bool]:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    known = {
        pa.string(): _is_text,
        pa.bool_(): _is_truth,
        pa.float64(): _is_fraction,
        pa.int64(): _is_whole,
        pa.int32(): _is_small,
    }
    return known.get(kind, _are_texts)


CHECKS = {
    table: tuple((field.name, _check(field.type)) for field in schema) for table, schema in TABLES.items()
}
FRACTIONS = {
    table: tuple(field.name for field in schema if field.type == pa.float64())
    for table, schema in TABLES.items()
}
