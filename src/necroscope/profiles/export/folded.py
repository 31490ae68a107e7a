"""Folded stacks: one line a stack, `outer;inner 12`, as flamegraph.pl and many others read them.

A difference has two counts, `outer;inner 10 12`: the baseline's, then the window's, not normalised, as
difffolded.pl writes them. The format has no place for a title or notes, so they are not in it.
"""

from __future__ import annotations

import re
from collections import Counter

from necroscope.model.visible_text import visible_text
from necroscope.profiles.export.stacks import stacks
from necroscope.profiles.export.title import Title
from necroscope.profiles.flame import Flame, Side

COUNT_AT_END = re.compile(r" (?=\d+(\.\d*)?$)")


def encode_folded(flame: Flame, title: Title) -> bytes:
    """The stacks in the order of their text; `;` in a name becomes `:`, what is not seen is written out."""
    window = count_lines(flame, flame.window)
    if flame.baseline is None:
        lines = [f"{line} {window[line]}\n" for line in sorted(window)]
    else:
        before = count_lines(flame, flame.baseline)
        lines = [f"{line} {before[line]} {window[line]}\n" for line in sorted(window.keys() | before.keys())]
    return "".join(lines).encode()


def count_lines(flame: Flame, side: Side) -> Counter[str]:
    """Samples by line; functions of one name in two modules fall together here."""
    names = [clean(label.name) for label in flame.labels]
    lines: Counter[str] = Counter()
    for labels, count in stacks(flame, side):
        # A thread named "worker 3" would be read as a stack `worker` with two counts.
        lines[COUNT_AT_END.sub("_", ";".join(names[label] for label in labels))] += count
    return lines


def clean(name: str) -> str:
    """A name that cannot be mistaken for two frames or two lines."""
    return " ".join(visible_text(name.replace(";", ":")).split()) or "[unknown]"
