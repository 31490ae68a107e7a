"""An interactive flame graph in one SVG file: a browser opens it from disk, without any request.

Click or Enter zooms, Escape resets, Ctrl-F searches by regular expression, arrow keys walk the frames
(svg.js). Without scripts it is still a picture, with every frame's details as its tooltip.

Frames of a difference are as wide as the mean of their shares here and in the baseline, so that what has
vanished is seen as well as what is new.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import accumulate
from xml.sax.saxutils import escape, quoteattr

from necroscope.model.visible_text import visible_text
from necroscope.profiles.export.title import Title
from necroscope.profiles.flame import Flame

WIDTH = 1200  # px
MARGIN = 10
ROW = 17
NARROWEST = 0.3
CELL = 6.7  # a character of the 11 px monospace font

# Okabe and Ito's colours that stay apart for colour-blind people, and bear black text.
KINDS = {"kernel": "#e69f00", "user": "#56b4e9", "jit": "#2fb58c", "unknown": "#bbbbbb"}
LESS, MORE = (63, 131, 201), (230, 134, 20)


@dataclass(frozen=True, slots=True)
class Box:
    """A frame that is drawn; place and width are in units of the root's weight."""

    node: int
    depth: int
    x: int
    weight: int


def encode_svg(flame: Flame, title: Title, *, inverted: bool = False, prefix: str = "") -> bytes:
    """The graph with its root at the bottom, or at the top if inverted.

    A page that holds several gives each its own `prefix`, which begins all ids of the graph.
    """
    weights = weigh(flame)
    boxes = place(flame, weights)
    left_out = sum(weight > 0 for weight in weights[1:]) - len(boxes) + 1
    head, top = write_head(flame, title, left_out, prefix)
    rows = [top + depth * ROW for depth in range(max(box.depth for box in boxes) + 1)]
    height = rows[-1] + ROW + 32
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}" data-left-out="{left_out}" data-prefix="{prefix}">',
        f"<title>{text(title.text)}</title>",
        f"<style>{resource('svg.css')}</style>",
        f'<rect class="paper" width="{WIDTH}" height="{height}"/>',
        *head,
        f'<g id="{prefix}frames" class="frames {"one" if flame.baseline is None else "difference"}">',
        *draw(flame, title, boxes, rows if inverted else rows[::-1]),
        "</g>",
        f'<text id="{prefix}details" x="{MARGIN}" y="{height - 12}"> </text>',
        f"<script><![CDATA[\n{resource('svg.js')}]]></script>",
        "</svg>\n",
    ]
    return "\n".join(parts).encode()


def write_head(flame: Flame, title: Title, left_out: int, prefix: str) -> tuple[list[str], int]:
    """Title, notes and legend, and where the frames begin below them."""
    notes = list(title.notes)
    if flame.baseline is not None:
        notes.append("width: the mean of a frame's shares here and in the baseline")
    if left_out:
        notes.append(f"{left_out} frames narrower than {NARROWEST} px are left out")
    y, parts = 24, []
    for line in textwrap.wrap(visible_text(title.text), 90):  # beside it stand the reset and the search
        parts.append(f'<text class="heading" x="{MARGIN}" y="{y}">{escape(line)}</text>')
        y += 20
    for line in (line for note in notes for line in textwrap.wrap(visible_text(note), 170)):
        parts.append(f'<text class="note" x="{MARGIN}" y="{y}">{escape(line)}</text>')
        y += 15
    parts += legend(flame, y)
    place = f'x="{WIDTH - MARGIN}" y="{y + 10}" text-anchor="end"'
    parts.append(f'<text id="{prefix}matched" {place}> </text>')
    return parts, y + 28


def weigh(flame: Flame) -> list[int]:
    """How wide each node is: its samples, or for a difference the sum of its two rates, in whole numbers."""
    here = flame.window
    if flame.baseline is None:
        return list(here.total)
    before = flame.baseline
    times, times_before = (max(round(side.seconds * 1000), 1) for side in (before, here))
    return [now * times + then * times_before for now, then in zip(here.total, before.total, strict=True)]


def place(flame: Flame, weights: Sequence[int]) -> list[Box]:
    """The boxes that are wide enough to see, each before its children, children by name."""
    narrowest = NARROWEST * weights[0] / (WIDTH - 2 * MARGIN)
    children: list[list[int]] = [[] for _ in weights]
    for node in range(1, len(weights)):
        children[flame.parent[node]].append(node)
    boxes: list[Box] = []
    pending = [Box(0, 0, 0, weights[0])]
    while pending:
        box = pending.pop()
        boxes.append(box)
        x = box.x
        below: list[Box] = []
        for child in sorted(children[box.node], key=lambda node: sort_key(flame, node)):
            if weights[child] > 0 and weights[child] >= narrowest:
                below.append(Box(child, box.depth + 1, x, weights[child]))
            x += weights[child]
        pending += reversed(below)
    return boxes


def sort_key(flame: Flame, node: int) -> tuple[str, str, str]:
    """Siblings stand in the same order in every graph."""
    label = flame.labels[flame.label[node]]
    return label.name, label.kind, label.module


def draw(flame: Flame, title: Title, boxes: list[Box], rows: list[int]) -> list[str]:
    """The boxes as SVG groups; svg.js reads their data attributes."""
    scale = (WIDTH - 2 * MARGIN) / max(boxes[0].weight, 1)
    largest = largest_change(flame, boxes)
    drawn: list[str] = []
    for box in boxes:
        name = visible_text(flame.name(box.node)) or "[unknown]"
        kind = flame.labels[flame.label[box.node]].kind
        x, width, y = MARGIN + box.x * scale, box.weight * scale, rows[box.depth]
        if box.node == 0:
            width = WIDTH - 2 * MARGIN  # also without samples
        if flame.baseline is not None:
            colour = f' fill="{diverging(flame.change(box.node), largest)}"'
        else:
            colour = f' fill="{KINDS[kind]}"' if kind in KINDS else ' fill="#dddddd"'
        drawn.append(
            f'<g class="frame" data-x="{box.x}" data-w="{box.weight}" data-d="{box.depth}" '
            f'data-s="{flame.window.total[box.node]}" data-n={quoteattr(name)}>'
            f"<title>{text(details(flame, title, box.node))}</title>"
            f'<rect x="{x:.2f}" y="{y}" width="{width:.2f}" height="{ROW - 1}"{colour}/>'
            f'<text x="{x + 3:.2f}" y="{y + 12}">{escape(fit(name, width))}</text></g>'
        )
    return drawn


def details(flame: Flame, title: Title, node: int) -> str:
    """What is shown when the mouse or the keyboard is on a frame."""
    label = flame.labels[flame.label[node]]
    name = (label.name or "[unknown]") + (f" ({label.module})" if label.module else "")
    samples, own = flame.window.total[node], flame.window.own[node]
    line = f"{name}: {samples} {title.unit}, {flame.share(node):.2%}; {own} in itself"
    if flame.baseline is None:
        return line
    before = f"{flame.baseline.total[node]} {title.unit} in {flame.baseline.seconds:.3g} s there"
    return f"{line}; {100 * flame.change(node):+.2f} points against the baseline ({before})"


def largest_change(flame: Flame, boxes: list[Box]) -> float:
    """The largest change of any drawn frame, in either direction."""
    return max((abs(flame.change(box.node)) for box in boxes), default=0.0)


def diverging(change: float, largest: float) -> str:
    """Blue for less, white for as much, orange for more; colour-blind people tell them apart."""
    strength = abs(change) / largest if largest else 0.0
    end = MORE if change > 0 else LESS
    return "#" + "".join(f"{round(255 + (part - 255) * strength):02x}" for part in end)


def legend(flame: Flame, top: int) -> list[str]:
    """What the colours mean."""
    if flame.baseline is None:
        pairs = list(KINDS.items())
    else:
        pairs = [
            ("blue: less here than in the baseline", diverging(-1, 1)),
            ("white: as much", diverging(0, 1)),
            ("orange: more here than in the baseline", diverging(1, 1)),
        ]
    parts, x = [], float(MARGIN)
    for words, colour in pairs:
        parts.append(f'<rect class="key" x="{x:.1f}" y="{top}" width="12" height="12" fill="{colour}"/>')
        parts.append(f'<text x="{x + 17:.1f}" y="{top + 10}">{words}</text>')
        x += 17 + len(words) * CELL + 18
    return parts


def fit(name: str, width: float) -> str:
    """As much of a name as a box holds; wide characters count twice, as in svg.js."""
    room = int((width - 6) / CELL)
    cells = [1 + (ord(letter) > 0x10FF) for letter in name]
    if sum(cells) <= room:
        return name
    kept = sum(end < room for end in accumulate(cells))
    return f"{name[:kept]}…" if kept >= 2 else ""


def text(words: str) -> str:
    """Words as XML text."""
    return escape(visible_text(words))


@cache
def resource(name: str) -> str:
    """The script or the style that goes into every file."""
    return files("necroscope.profiles.export").joinpath(name).read_text()
