"""Small flame graphs whose every number is known."""

from __future__ import annotations

from necroscope.profiles.export.title import Title
from necroscope.profiles.flame import Flame, Label, Side

TITLE = Title("web-1, 5 s, core 37", notes=("3 idle", "0 lost"))
HOSTILE = (
    "<script>alert(1)</script>",
    "]]>",
    "\"quoted' & more",
    "a;b\nc\x1b[31m\x00\u2028d",
    "🔥" * 40,
    "worker 12",
    "\u202eevil",
    "\ud800",
    "",
)


def tree(
    window: dict[str, int], baseline: dict[str, int] | None = None, seconds: tuple[float, ...] = (4.0, 2.0)
) -> Flame:
    """A graph from folded stacks; a name may end in @kind@module. A baseline is half as long as a window."""
    stacks = [window] if baseline is None else [window, baseline]
    rows = [[(stack.split(";"), count) for stack, count in side.items()] for side in stacks]
    return from_stacks(rows, seconds)


def hostile() -> Flame:
    """One sample in each of the names that files and pages stumble over."""
    return from_stacks([[([name], 1) for name in HOSTILE]])


def from_stacks(sides: list[list[tuple[list[str], int]]], seconds: tuple[float, ...] = (4.0, 2.0)) -> Flame:
    """A graph of one window, or of a window and its baseline."""
    labels = {Label("all", "root", ""): 0}
    nodes: dict[tuple[int, int], int] = {}
    parent, label = [0], [0]
    counts = [([0], [0]) for _ in sides]
    for side, rows in enumerate(sides):
        for names, count in rows:
            path = [0]
            for name in names:
                words = name.split("@") if name.count("@") == 2 else [name, "user", "/bin/web"]
                number = labels.setdefault(Label(*words), len(labels))
                node = nodes.setdefault((path[-1], number), len(parent))
                if node == len(parent):
                    parent.append(path[-1])
                    label.append(number)
                    for total, own in counts:
                        total.append(0)
                        own.append(0)
                path.append(node)
            for node in path:
                counts[side][0][node] += count
            counts[side][1][path[-1]] += count
    made = [
        Side(tuple(total), tuple(own), length) for (total, own), length in zip(counts, seconds, strict=False)
    ]
    return Flame(tuple(parent), tuple(label), tuple(labels), made[0], made[1] if len(made) > 1 else None)


ONE = tree({"main;read@kernel@[kernel]": 30, "main": 10, "main;parse;parse": 20, "idle@unknown@": 40})
DIFFERENCE = tree({"main;new": 30, "main;same": 10}, {"main;same": 10, "main;gone": 10})
