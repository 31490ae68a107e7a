"""pprof's profile.proto, gzipped (https://github.com/google/pprof/blob/main/proto/profile.proto).

The window only: pprof makes differences itself (`pprof -diff_base`), and a comment says so.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable

from necroscope.model.visible_text import visible_text
from necroscope.profiles.export.stacks import stacks
from necroscope.profiles.export.title import Title
from necroscope.profiles.flame import Flame

# Field numbers of profile.proto.
SAMPLE_TYPE, SAMPLE, MAPPING, LOCATION, FUNCTION, STRING_TABLE = 1, 2, 3, 4, 5, 6
PERIOD_TYPE, PERIOD, COMMENT = 11, 12, 13


def encode_pprof(flame: Flame, title: Title) -> bytes:
    """Samples and, where the period is known, the CPU time they stand for; equal graphs give equal bytes."""
    strings = Strings()
    period = title.period_ns
    types = [message((1, strings[title.unit]), (2, strings["count"]))]
    if period is not None:
        types.append(message((1, strings["cpu"]), (2, strings["nanoseconds"])))
    fields: list[tuple[int, int | bytes]] = [(SAMPLE_TYPE, kind) for kind in types]
    for labels, count in stacks(flame, flame.window):
        values = [count] if period is None else [count, count * period]
        innermost_first = [label + 1 for label in reversed(labels)]  # ids start at 1
        fields.append((SAMPLE, message((1, packed(innermost_first)), (2, packed(values)))))
    fields += symbols(flame, strings)
    if period is not None:
        fields += [(PERIOD_TYPE, types[-1]), (PERIOD, period)]
    fields += [(COMMENT, strings[line]) for line in comments(flame, title)]
    fields += [(STRING_TABLE, text.encode()) for text in strings.numbers]
    return gzip.compress(message(*fields), mtime=0)


def comments(flame: Flame, title: Title) -> list[str]:
    """What `pprof -comments` prints."""
    window_only = "the window only: its baseline is not in this file"
    return [title.text, *title.notes, *([window_only] if flame.baseline is not None else [])]


def symbols(flame: Flame, strings: Strings) -> list[tuple[int, int | bytes]]:
    """A function and a location for each label, and a mapping for each module.

    The mapping without a name comes first, as pprof takes the first one for the program's file.
    """
    modules = {
        name: number for number, name in enumerate(sorted({label.module for label in flame.labels}), 1)
    }
    fields: list[tuple[int, int | bytes]] = [
        # Field 7, has_functions: names are known, so pprof need not look for the file.
        (MAPPING, message((1, number), (5, strings[name]), (7, 1)))
        for name, number in modules.items()
    ]
    for number, label in enumerate(flame.labels, 1):
        name = strings[label.name or "[unknown]"]
        mapping = modules[label.module]
        fields.append((LOCATION, message((1, number), (2, mapping), (4, message((1, number))))))
        fields.append((FUNCTION, message((1, number), (2, name), (3, name), (4, strings[label.module]))))
    return fields


class Strings:
    """The string table: each text once, the empty one first. pprof prints it as it is: it is visible text."""

    def __init__(self) -> None:
        self.numbers = {"": 0}

    def __getitem__(self, text: str) -> int:
        return self.numbers.setdefault(visible_text(text), len(self.numbers))


def varint(number: int) -> bytes:
    """Seven bits a byte, lowest first."""
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def packed(numbers: Iterable[int]) -> bytes:
    """A repeated number as one field."""
    return b"".join(map(varint, numbers))


def message(*fields: tuple[int, int | bytes]) -> bytes:
    """Fields by number: an int as a varint, bytes with their length before them."""
    encoded = bytearray()
    for number, value in fields:
        if isinstance(value, int):
            encoded += varint(number << 3) + varint(value)
        else:
            encoded += varint(number << 3 | 2) + varint(len(value)) + value
    return bytes(encoded)
