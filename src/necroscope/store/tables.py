"""What a source says, as rows of tables: `cores` is one table, `processes` has `processes.tasks` beside it.

The columns are the fields of the source's own dataclasses, so that nothing has to be declared twice: a
dataclass inside of another gives columns with a prefix, a tuple inside of another gives a table of its own,
whose column `of` is the number of the row it belongs to.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, is_dataclass
from functools import cache
from operator import attrgetter
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from necroscope.sources.source import Source

Kind = Literal["int", "float", "text", "bool"]
Row = Sequence[Any]
Tables = Sequence[Sequence[Row]]  # the rows of every table of a source
KINDS: dict[type, Kind] = {int: "int", float: "float", str: "text", bool: "bool"}


@dataclass(frozen=True, slots=True)
class Table:
    """One table of a source; `time` comes before these columns, and `of` in all tables but the first."""

    name: str
    columns: tuple[tuple[str, Kind], ...]


@dataclass(frozen=True, slots=True)
class Shape:
    """How the values of one source are laid out in tables."""

    tables: tuple[Table, ...]
    _record: Record
    is_many: bool  # whether a source gives any number of values, or always one

    @property
    def layout(self) -> list[tuple[str, list[tuple[str, str]]]]:
        """The name of every table, and all its columns but the time."""
        return [
            (table.name, [*([("of", "int")] if place else []), *table.columns])
            for place, table in enumerate(self.tables)
        ]

    def rows(self, value: Any) -> list[list[Row]]:
        """The rows of every table that stand for a value."""
        values = value if self.is_many else (value,)
        return [self._record.rows(values), *self._record.rows_of_lists(values)]

    def fits(self, tables: Tables) -> bool:
        """Whether rows can be of this shape; those of another version may not be."""
        widths = [len(table.columns) + bool(place) for place, table in enumerate(self.tables)]  # `of`
        return (
            len(tables) == len(widths)
            and (self.is_many or len(tables[0]) == 1)
            and all(set(map(len, rows)) <= {width} for rows, width in zip(tables, widths, strict=True))
        )

    def value(self, tables: Tables) -> Any:
        """The value that some rows of this shape stand for."""
        values = self._record.values(tables)
        return values if self.is_many else values[0]


@cache
def shape_of(source: Source[Any]) -> Shape:
    """The layout of a source, by the type that its reader returns."""
    value_type = get_args(get_args(get_type_hints(source.open)["return"])[1])[0]
    is_many = get_origin(value_type) is tuple
    record = Record(get_args(value_type)[0] if is_many else value_type)
    lists = [Table(f"{source.id}.{name}", tuple(element.columns)) for name, _, element in record.lists]
    return Shape((Table(source.id, tuple(record.columns)), *lists), record, is_many)


class Record:
    """How a dataclass or named tuple is spread over columns, and over tables for the tuples in it."""

    def __init__(self, type_: Any, prefix: str = "") -> None:
        self.make: Callable[..., Any] = type_
        self.columns: list[tuple[str, Kind]] = []
        self.lists: list[tuple[str, attrgetter[Any], Record]] = []
        self._fields: list[tuple[str, Record | None, bool]] = []  # name, what it is if no column, many
        for name, hint in get_type_hints(type_).items():
            self._add_field(prefix, name, _without_none(hint))
        self._is_flat = all(inner is None for _, inner, _ in self._fields)
        self._get = _getter([name for name, _, _ in self._fields])

    def _add_field(self, prefix: str, name: str, hint: Any) -> None:
        if hint in KINDS:
            self.columns.append((prefix + name, KINDS[hint]))
            self._fields.append((name, None, False))
        elif get_origin(hint) is tuple:
            element = get_args(hint)[0]
            inner = _Scalar(KINDS[element]) if element in KINDS else Record(element)
            self.lists.append((prefix + name, attrgetter(name), inner))
            self._fields.append((name, inner, True))
        elif is_dataclass(hint):
            inner = Record(hint, f"{prefix}{name}_")
            self.columns += inner.columns
            self._fields.append((name, inner, False))
        else:
            raise TypeError(f"{self.make}.{name}: no column for {hint}")

    def rows(self, values: Iterable[Any]) -> list[Row]:
        """One row for every value."""
        return list(map(self._get, values)) if self._is_flat else [self._row(value) for value in values]

    def _row(self, value: Any) -> list[Any]:
        row: list[Any] = []
        for (_, inner, many), part in zip(self._fields, self._get(value), strict=True):
            if inner is None:
                row.append(part)
            elif not many:
                row += inner._row(part) if part is not None else [None] * len(inner.columns)
        return row

    def rows_of_lists(self, values: Sequence[Any]) -> list[list[Row]]:
        """The rows of the tuples in the values, each with the number of the value it belongs to."""
        return [
            [(number, *row) for number, value in enumerate(values) for row in element.rows(get(value))]
            for _, get, element in self.lists
        ]

    def values(self, tables: Tables) -> tuple[Any, ...]:
        """The values that the rows of this table and of those beside it stand for."""
        rows, *lists = tables
        if self._is_flat:
            return tuple(self.make(*row) for row in rows)
        grouped = [
            _grouped(element, list_rows) for (_, _, element), list_rows in zip(self.lists, lists, strict=True)
        ]
        return tuple(
            self._value(iter(row), iter([group.get(number, ()) for group in grouped]))
            for number, row in enumerate(rows)
        )

    def _value(self, row: Any, lists: Any) -> Any:
        parts = []
        for _, inner, many in self._fields:
            if inner is None:
                parts.append(next(row))
            elif many:
                parts.append(next(lists))
            else:
                columns = [next(row) for _ in inner.columns]
                known = any(column is not None for column in columns)
                parts.append(inner._value(iter(columns), lists) if known else None)
        return self.make(*parts)


class _Scalar(Record):
    """A tuple of plain numbers or words: a table of one column."""

    def __init__(self, kind: Kind) -> None:
        self.columns, self.lists = [("value", kind)], []

    def rows(self, values: Iterable[Any]) -> list[Row]:
        return [(value,) for value in values]

    def values(self, tables: Tables) -> tuple[Any, ...]:
        return tuple(value for (value,) in tables[0])


def _grouped(element: Record, rows: Sequence[Row]) -> dict[int, tuple[Any, ...]]:
    by_number: dict[int, list[Row]] = defaultdict(list)
    for number, *row in rows:
        by_number[number].append(row)
    return {number: element.values([group]) for number, group in by_number.items()}


def _getter(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    get = attrgetter(*names)
    return get if len(names) > 1 else lambda value: (get(value),)


def _without_none(hint: Any) -> Any:
    """`int | None` is a column of int; Literal[1, 2] one of its values' type."""
    if get_origin(hint) is Literal:
        return type(get_args(hint)[0])
    if isinstance(hint, UnionType):
        (hint,) = (part for part in get_args(hint) if part is not NoneType)
    return hint
