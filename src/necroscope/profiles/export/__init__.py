"""Flame graphs as files that other tools and browsers open: folded, speedscope, pprof, SVG.

Each format is a function from the graph and its title to the bytes of the file; nothing is written here.
"""

from __future__ import annotations

from collections.abc import Callable

from necroscope.profiles.export.folded import encode_folded
from necroscope.profiles.export.pprof import encode_pprof
from necroscope.profiles.export.speedscope import encode_speedscope
from necroscope.profiles.export.svg import encode_svg
from necroscope.profiles.export.title import Title
from necroscope.profiles.flame import Flame

FORMATS: dict[str, Callable[[Flame, Title], bytes]] = {
    ".folded": encode_folded,
    ".speedscope.json": encode_speedscope,
    ".pb.gz": encode_pprof,
    ".svg": encode_svg,
}
